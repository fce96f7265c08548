"""The commands by which an image is searched, in the words of its own shell. No gate."""

from __future__ import annotations

MOST_NAMES = 200
LARGEST_SEARCHED_KIB = 64 * 1024

# Arguments: paths to leave out, "--", paths to look at besides. Leaves the roots in "$@".
ROOTS = """
for tool in find grep head; do command -v "$tool" >/dev/null || exit 127; done
skip=" "
while [ "$1" != -- ]; do skip="$skip$1 "; shift; done
shift
for root in /* /.[!.]*; do
  case "$skip" in *" $root "*) continue ;; esac
  [ -L "$root" ] || [ ! -e "$root" ] || set -- "$@" "$root"
done
"""
# Names with a line feed would be read as two, so they are counted here and read in another way.
ODD = """
odd="*$(printf '\\nx')"; odd="${odd%x}*"
"""
# Git folders have HEAD and objects side by side, whatever they are called; without HEAD packs are left.
NAMES = f"""
{ODD}
find "$@" -path "$odd" 2>/dev/null | head -n 1 | sed 's/.*/odd/'
find "$@" -type d -name objects ! -path "$odd" 2>/dev/null | while IFS= read -r objects; do
  git="${{objects%/objects}}"
  if [ -f "$git/HEAD" ] || [ -d "$objects/pack" ]; then echo "git $git"; fi
done | head -n 200
find "$@" -type f \\( NAMED \\) -size +0 ! -path "$odd" 2>/dev/null | head -n 200 | sed 's/^/name /'
find /solution /tests -type f 2>/dev/null | head -n 3 | sed 's/^/folder /'
"""
SUMS = f"""
{ODD}
command -v sha256sum >/dev/null || exit 127
find "$@" -type f \\( SIZED \\) ! -path "$odd" -exec sha256sum {{}} + 2>/dev/null |
  grep -Ff /envevo-search/sums | head -n 200
exit 0
"""
LINES = f"""
{ODD}
find "$@" -type f -size -{LARGEST_SEARCHED_KIB}k ! -path "$odd" \\
  -exec grep -lFf /envevo-search/lines {{}} + 2>/dev/null | head -n {MOST_NAMES}
exit 0
"""
# Argument: a git folder. All its objects, also those that no branch reaches, through a folder of our own: the
# image's may have lost its empty folders, or be set up to run something.
GIT = """
command -v git >/dev/null || exit 127
rm -rf "$HOME/own" && git init -q --bare "$HOME/own" && export GIT_OBJECT_DIRECTORY="$1/objects" || exit 126
all() { git --git-dir="$HOME/own" cat-file --batch-all-objects "$@" 2>/dev/null || echo broken; }
all --batch-check > "$HOME/names"
if grep -q '^broken$' "$HOME/names"; then echo broken; fi
grep -Ff "$HOME/blobs" "$HOME/names" | head -n 200 | sed 's/^/blob /'
all --batch | grep -aoFf "$HOME/lines" | sort -u | head -n 1000 | sed 's/^/line /'
exit 0
"""
