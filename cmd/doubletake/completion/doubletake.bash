# Completion of doubletake for bash, version 3.2 and later. The program itself says what
# can follow; where it knows nothing, bash completes names of files.

_doubletake() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local program=${COMP_WORDS[0]/#\~/$HOME} word found
  local -a words
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -- || $word == --generate-bash-completion ]] && return 0 # files alone follow
    words+=("$word")
  done
  # In --flag=value the sign is a word of its own; the program is asked as for --flag value.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    unset "words[${#words[@]}-1]"
  fi
  case $cur in
  -*) # All flags are asked for: of one that is whole the program gives the longer alone.
    words+=(-) ;;
  esac
  # What was typed is handed over word by word; none of it is evaluated.
  found=$("$program" ${words[@]+"${words[@]}"} --generate-bash-completion 2>/dev/null) || return 0
  local IFS=$' \t\n'
  COMPREPLY=($(compgen -W "$found" -- "$cur")) || COMPREPLY=()
}

complete -o bashdefault -o default -F _doubletake doubletake
