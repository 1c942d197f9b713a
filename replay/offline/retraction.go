package offline

import (
	"regexp"
	"strings"
)

// What takes a verbatim claim back from outside of its own clause: a remark before it
// that speaks of what follows, or one after it that speaks of what was said.
var (
	before = regexp.MustCompile(`(?i)\b(following|below)\b[^.\n]*\b(withdrawn|withdrew|dropped|revoked|retracted|cancell?ed|lifted|obsolete|void|false|untrue|invalid|outdated|no longer|not (?:true|valid|in force))\b` +
		`|\b(withdrawn|withdrew|dropped|revoked|retracted|cancell?ed|lifted|obsolete|void|false|untrue|invalid|outdated|no longer (?:true|valid|holds?|appl\w+))\b[^.\n]*\b(following|below|next rule|next statement)\b` +
		`|\b(?:it|that) is (?:false|untrue|wrong)\b[^.\n]*$` +
		`|\b(?:do|is) the opposite\W*$` +
		`|^\W*no longer (?:valid|true|applicable|in force|binding)\W*$`)
	after = regexp.MustCompile(`(?i)^\W*(?:that|this|it|which|the (?:above|line above|rule above|rule))\b[^.\n]{0,40}\b(?:is over|no longer|not any ?more|(?:was|is|has been) (?:dropped|lifted|revoked|withdrawn|cancell?ed|void|obsolete|false|untrue)|(?:does|do) not (?:hold|apply))` +
		`|^\W*\(?\s*(?:no longer|not any ?more|withdrawn|revoked|obsolete|lifted|void)\b` +
		`|^\W*do the opposite\b`)
)

// takenBack says whether the text right before or right after the tokens lo to hi takes
// them back. It looks no further than two lines up and one line down.
func (r *Reading) takenBack(lo, hi int) bool {
	text := r.texts[r.tokens[lo].text]
	begin := int(r.tokens[lo].pos)
	const most = 240 // bytes on either side
	lead := text[max(0, begin-most):begin]
	if lines := strings.Split(strings.TrimRight(lead, " \t\r\n-*#>|•\"'`“"), "\n"); len(lines) > 0 {
		up := lines[max(0, len(lines)-2):]
		// A remark on an earlier line concerns this one only where it ends there.
		for i, line := range up {
			if i < len(up)-1 && strings.TrimSpace(up[len(up)-1]) != "" && !strings.HasSuffix(strings.TrimSpace(line), ":") {
				continue
			}
			if before.MatchString(line) {
				return true
			}
		}
	}
	end := len(text)
	if hi < len(r.tokens) && r.tokens[hi].text == r.tokens[lo].text {
		// The first token that follows begins there; what is between is punctuation.
		end = int(r.tokens[hi].pos)
	}
	last := r.tokens[hi-1]
	tail := text[min(len(text), int(last.pos)):]
	// Past the last word of the claim itself.
	if i := strings.IndexAny(tail, " \t\r\n.,;:!?()\"'"); i >= 0 {
		tail = tail[i:]
	} else {
		tail = text[end:]
	}
	tail = tail[:min(len(tail), most)]
	return after.MatchString(tail)
}
