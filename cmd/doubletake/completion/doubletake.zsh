#compdef doubletake
# Completion of doubletake for zsh. The program itself says what can follow; where it
# knows nothing, zsh completes names of files.

_doubletake() {
  local cur=${words[CURRENT]} program=${words[1]/#\~/$HOME}
  local -a before found
  before=("${(@Q)words[2,CURRENT-1]}")
  if (( ${before[(Ie)--]} )); then
    _files # files alone follow two dashes
    return
  fi
  if [[ $cur == -*=* ]]; then
    before+=("${cur%%=*}") # as for the flag and its value apart
    compset -P '*='
  elif [[ $cur == -* ]]; then
    before+=(-) # all flags: of one that is whole the program gives the longer alone
  fi
  found=(${(f)"$("$program" "${before[@]}" --generate-bash-completion 2>/dev/null)"})
  compadd -- "${found[@]}" || _files
}

if [[ ${funcstack[1]} == _doubletake ]]; then
  _doubletake "$@" # loaded from a folder of fpath
else
  compdef _doubletake doubletake
fi
