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
    set -l lead ''
    if string match -q -- '-*=*' $cur
        set lead (string replace -r '=.*' = -- $cur) # as for the flag and its value apart
        set -a before (string replace -r '=.*' '' -- $cur)
        set cur (string replace -r '^[^=]*=' '' -- $cur)
    else if string match -q -- '-*' $cur
        set -a before - # all flags: of one that is whole the program gives the longer alone
    end
    set -l found ($program $before --generate-bash-completion 2>/dev/null)
    set -l fitting
    for word in $found
        if test "$cur" = "" -o "$cur" = (string sub -l (string length -- "$cur") -- "$word")
            set -a fitting $lead$word
        end
    end
    if set -q fitting[1]
        printf '%s\n' $fitting
    else
        __fish_complete_path $cur
    end
end

complete -c doubletake -f -a '(__doubletake_complete)'
