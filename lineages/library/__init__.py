"""Tasks taken in, their content, and the audits that say what they are worth."""
