#!/bin/sh
# A compactor that doubletake can run, with nothing but a POSIX shell and awk: one JSON
# object on stdin, one on stdout; logs belong on stderr. It keeps the user's first message
# and the newest messages that fit the budget, and leaves out what stands between them.
# Messages go out letter for letter as they came in. Put your own rule in the END block.
LC_ALL=C exec awk '
function digits(c) { return c ~ /[0-9]/ }
# structure reads what stands between two strings.
function structure(text,   i, c) {
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c == "{" && depth == 2 && listed) { message = ""; inside = 1 }
		if (inside) message = message c
		if (c == "{" || c == "[") {
			if (c == "[" && depth == 1 && key[1] == "messages") listed = 1
			depth++
			key[depth] = ""
		} else if (c == "}" || c == "]") {
			if (depth == 3 && inside && key[3] == "role") role[count + 1] = word
			depth--
			if (depth == 2 && inside) { count++; whole[count] = message; inside = 0 }
			if (depth == 1) listed = 0
		} else if (c == ":") {
			key[depth] = word
		} else if (c == ",") {
			if (depth == 3 && inside && key[3] == "role") role[count + 1] = word
			key[depth] = ""
		} else if (depth == 1 && key[1] == "budget_tokens" && digits(c)) {
			budget = budget c
		}
	}
}
BEGIN { RS = "\"" }
quoted {
	n = 0
	while (n < length($0) && substr($0, length($0) - n, 1) == "\\") n++
	word = word $0
	if (n % 2) { word = word "\""; next } # an escaped quote, and the string goes on
	quoted = 0
	if (inside) message = message "\"" word "\""
	next
}
{ structure($0); quoted = 1; word = "" }
END {
	for (first = 1; first < count && role[first] != "user"; first++) ;
	room = budget * 4 - length(whole[first])
	for (i = count; i > first; i--) {
		used += length(whole[i])
		if (used > room && start) break
		if (role[i] != "tool") start = i # a result never stands without its call
	}
	if (!start || start <= first + 1) {
		print "{\"status\":\"unchanged\",\"reason\":\"there is nothing to leave out\"}"
		exit
	}
	printf "{\"status\":\"compacted\",\"compactor\":{\"name\":\"compact.sh\",\"version\":\"1\"},\"messages\":[%s", whole[first]
	for (i = start; i <= count; i++) printf ",%s", whole[i]
	print "]}"
}'
