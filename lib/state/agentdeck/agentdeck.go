// Package agentdeck reads the database in which agent-deck has kept its sessions since 0.11,
// state.db, by schema version 13. It leaves no trace in it.
package agentdeck

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gt/lib/sys/sqlite"
)

// IsDatabase reports whether a file that begins like this is a database.
func IsDatabase(beginning []byte) bool {
	return bytes.HasPrefix(beginning, []byte("SQLite format 3\x00"))
}

// maxSize bounds what a database has of sessions, in bytes.
const maxSize = 100 << 20

type object map[string]any

// JSON returns the sessions and groups of a database in the form of sessions.json, the file
// of earlier versions. It leaves out processes.
func JSON(path string) ([]byte, error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var sessions, groups []object
	err = db.View(func() error {
		sessions, groups = []object{}, []object{}
		size := 0
		var bad error
		err := db.Scan("instances", func(r sqlite.Row) bool {
			var one object
			if one, bad = session(r); bad != nil {
				bad = fmt.Errorf("cannot read '%s': session %.80q: %w", path, r.Text("id"), bad)
				return false
			}
			size += len(r.Text("tool_data")) + len(r.Text("command")) + len(r.Text("title"))
			if size > maxSize {
				bad = fmt.Errorf("cannot read '%s': it has more than %d MB", path, maxSize>>20)
			}
			sessions = append(sessions, one)
			return bad == nil
		})
		if bad != nil || err != nil || db.Columns("groups") == nil {
			return cmp.Or(bad, err)
		}
		return db.Scan("groups", func(r sqlite.Row) bool {
			groups = append(groups, object{"path": r.Text("path"), "expanded": r.Int("expanded") != 0, "order": r.Int("sort_order")})
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(object{"instances": sessions, "groups": groups})
}

// session converts a row of instances. tool_data is a JSON object with the fields that
// depend on the agent, whose times are in seconds.
func session(r sqlite.Row) (object, error) {
	one := object{}
	if text := r.Text("tool_data"); text != "" {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&one); err != nil {
			return nil, fmt.Errorf("invalid tool_data: %w", err)
		}
	}
	for key, value := range one {
		if n, ok := value.(json.Number); ok && strings.HasSuffix(key, "_detected_at") {
			delete(one, key)
			if seconds, err := n.Int64(); err == nil && seconds > 0 {
				one[key] = time.Unix(seconds, 0).UTC()
			}
		}
	}
	delete(one, "gt") // it would be believed to be gt's own
	for _, field := range []string{"id", "title", "project_path", "group_path", "command", "tool", "wrapper", "parent_session_id", "account"} {
		if text := r.Text(field); text != "" {
			one[field] = text
		} else {
			delete(one, field)
		}
	}
	for _, field := range []string{"created_at", "archived_at"} {
		if seconds := r.Int(field); seconds > 0 {
			one[field] = time.Unix(seconds, 0).UTC()
		} else {
			delete(one, field)
		}
	}
	return one, nil
}
