package rubric

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// change is one thing done to one file.
type change struct {
	what string // created, changed, deleted or moved
	path string
	fact replay.Fact
}

// artifact asks which files were made or changed, and what was done to the one that
// was worked on most.
func (r *Rubric) artifact(lost []said) []replay.Probe {
	changes := changesIn(lost)
	if len(changes) == 0 {
		return nil
	}
	var order []string
	by := map[string][]change{}
	for _, c := range changes {
		if by[c.path] == nil {
			order = append(order, c.path)
		}
		by[c.path] = append(by[c.path], c)
	}
	all := replay.Probe{Question: r.ask(askFiles)}
	for _, path := range order {
		first := by[path][0]
		all.Truth = append(all.Truth, replay.Fact{Turn: first.fact.Turn, Role: first.fact.Role, Text: first.what + ": " + path})
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), cmp.Compare(digest(a), digest(b)))
	})
	one := replay.Probe{Question: r.ask(askFile, "{path}", order[0])}
	for _, c := range by[order[0]] {
		one.Truth = append(one.Truth, c.fact)
	}
	one.Truth = one.Truth[:min(len(one.Truth), mostFacts)]
	return []replay.Probe{all, one}
}

// changesIn are the changes to files that tool calls made, in order.
func changesIn(lost []said) []change {
	results := map[string]string{}
	for i := range lost {
		if lost[i].Role == fixtures.RoleTool {
			results[lost[i].ToolCallID] = lost[i].Content
		}
	}
	known := map[string]bool{} // paths read or changed before
	var list []change
	for i := range lost {
		for _, call := range lost[i].ToolCalls {
			for _, c := range changesOf(call, known) {
				if failed(results[call.ID]) {
					continue
				}
				text := fmt.Sprintf("%s %s", c.what, c.path)
				if detail := c.fact.Text; detail != "" {
					text += ": " + detail
				}
				if why := explains(lost[i:]); why != "" {
					text += " (the assistant then said: " + why + ")"
				}
				c.fact = lost[i].fact(text)
				list = append(list, c)
			}
		}
	}
	return list
}

// explains is the first sentence that the assistant said after a call, before the user
// spoke again.
func explains(rest []said) string {
	for i := range rest {
		switch {
		case i > 0 && rest[i].Role == fixtures.RoleUser:
			return ""
		case i > 0 && rest[i].Role == fixtures.RoleAssistant && rest[i].Content != "":
			if list := sentences(rest[i].Content); len(list) > 0 {
				return clip(list[0], 200)
			}
		}
	}
	return ""
}

func failed(result string) bool {
	start := strings.ToLower(strings.TrimSpace(clip(result, 40)))
	for _, word := range []string{"error", "failed", "fatal", "permission denied", "no such file", "not found", "refused"} {
		if strings.HasPrefix(start, word) {
			return true
		}
	}
	return false
}

var (
	patched    = regexp.MustCompile(`(?m)^\*\*\* (Add|Update|Delete) File: (.+)$`)
	redirected = regexp.MustCompile(`(?:^|[\s;&|])(>>?|\btee(?: -a)?)\s*([\w.~/@+-]*[./][\w.~/@+-]*\w)`)
	quoted     = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// changesOf says what a call does to which files. It marks in known what it touches.
func changesOf(call fixtures.ToolCall, known map[string]bool) []change {
	var list []change
	note := func(what, path, detail string) {
		if path == "" || path == "/dev/null" {
			return
		}
		if what == "created" && known[path] {
			what = "changed"
		}
		known[path] = true
		list = append(list, change{what, path, replay.Fact{Text: detail}})
	}
	arguments := fields(call.Arguments)
	for _, text := range arguments {
		for _, m := range patched.FindAllStringSubmatch(text, -1) {
			note(map[string]string{"Add": "created", "Update": "changed", "Delete": "deleted"}[m[1]], strings.TrimSpace(m[2]), "")
		}
	}
	if len(list) > 0 {
		return list
	}
	path := firstOf(arguments, "path", "file_path", "file", "filename", "target_file", "notebook_path", "target")
	words := nameWords(call.Name)
	has := func(names ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(names, w) })
	}
	switch {
	case path != "" && has("edit", "replace", "patch", "update", "modify", "insert", "append"):
		known[path] = true
		note("changed", path, quoteChange(firstOf(arguments, "new", "new_string", "new_str", "replacement", "content", "text", "insert_text")))
	case path != "" && has("write", "create", "save", "put"):
		note("created", path, quoteChange(firstOf(arguments, "content", "contents", "text", "file_text")))
	case path != "" && has("delete", "remove", "rm", "unlink"):
		note("deleted", path, "")
	case path != "" && has("move", "rename", "mv"):
		note("moved", path, "to "+firstOf(arguments, "to", "new_path", "destination", "dest"))
	case path != "":
		known[path] = true // it was read, so it was there before
	default:
		if command := firstOf(arguments, "command", "cmd", "script"); command != "" {
			for _, m := range redirected.FindAllStringSubmatch(shellOf(command), -1) {
				what := "created"
				if m[1] == ">>" || strings.HasSuffix(m[1], "-a") {
					what = "changed"
				}
				note(what, m[2], quoteChange(command))
			}
		}
	}
	return list
}

// shellOf is what of a command the shell reads itself: without quoted text and without
// what a here-document holds.
func shellOf(command string) string {
	if at := strings.Index(command, "<<"); at >= 0 {
		if end := strings.IndexByte(command[at:], '\n'); end >= 0 {
			command = command[:at+end]
		}
	}
	return quoted.ReplaceAllString(command, "''")
}

// quoteChange is the beginning of what was written, in one line.
func quoteChange(text string) string {
	return clip(strings.Join(strings.Fields(text), " "), 160)
}

// fields are the text arguments of a call; a list of texts counts as one.
func fields(arguments json.RawMessage) map[string]string {
	var raw map[string]json.RawMessage
	if json.Unmarshal(arguments, &raw) != nil {
		return nil
	}
	texts := map[string]string{}
	for name, value := range raw {
		var text string
		var list []string
		switch {
		case json.Unmarshal(value, &text) == nil:
			texts[name] = text
		case json.Unmarshal(value, &list) == nil:
			texts[name] = strings.Join(list, " ")
		}
	}
	return texts
}

func firstOf(arguments map[string]string, names ...string) string {
	for _, name := range names {
		if arguments[name] != "" {
			return arguments[name]
		}
	}
	return ""
}

// nameWords cuts write_file, writeFile and write-file into words.
func nameWords(name string) []string {
	var b strings.Builder
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(c rune) bool { return c == ' ' || c == '_' || c == '-' || c == '.' })
}
