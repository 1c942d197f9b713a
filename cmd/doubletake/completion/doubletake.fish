# Completion of doubletake for fish. The program itself says what can follow; where it
# knows nothing, fish completes names of files.

function __doubletake_complete
    set -l before (commandline -opc)
    set -l cur (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $before[1])
    set -e before[1]
    if contains -- -- $before
        __fish_complete_path $cur # files alone follow two dashes
        return
    end
    if string match -q -- '-*' $cur
        set -a before - # all flags: of one that is whole the program gives the longer alone
    else if string match -q -- '-*' $before[-1]
        __fish_complete_path $cur # the value of a flag is a file, or the user's own
        return
    end
    set -l found ($program $before --generate-bash-completion 2>/dev/null)
    set -l fitting
    for word in $found
        if test "$cur" = "" -o "$cur" = (string sub -l (string length -- "$cur") -- "$word")
            set -a fitting $word
        end
    end
    if set -q fitting[1]
        printf '%s\n' $fitting
    else
        __fish_complete_path $cur
    end
end

complete -c doubletake -f -a '(__doubletake_complete)'
