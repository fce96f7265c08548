"""Floor 0: tasks as values, and the places where their content may run.

Plain Python; imports nothing of ours and neither Django nor Celery. The public names live in the
submodules: `task`, `config`, `digests`, `intake`, `bundle`, `dockerfile`, `reward`, `base`, `trial`,
`docker`, `bubblewrap`.
"""
