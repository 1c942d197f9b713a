package judge

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// origin is the role of the recorded message that states the item.
func origin(recorded []fixtures.Message, item *fixtures.Item) string {
	for i := range recorded {
		if m := &recorded[i]; m.Turn == item.Turn && m.Holds(item.Literal) {
			return m.Role
		}
	}
	return ""
}

// voice says what is wrong with the voice in which a literal came back, or returns the
// empty string. What a compactor wrote anew in the user's role is a summary, by
// convention of most harnesses, and no order of the user's.
func voice(origin string, holder *fixtures.Message) string {
	written := string(holder.Extra[replay.KindField]) == `"`+replay.KindSummary+`"`
	switch {
	case origin == "" || holder.Role == origin || holder.Role == fixtures.RoleSystem:
		return ""
	case origin == fixtures.RoleUser:
		return fmt.Sprintf("the user said it, and it came back as of the %s", holder.Role)
	case holder.Role == fixtures.RoleUser && !written:
		return fmt.Sprintf("the %s said it, and it came back as the user's order", origin)
	}
	return ""
}
