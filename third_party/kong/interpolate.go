package kong

import (
	"fmt"
	"strings"
)

// interpolationMatches splits "s" into what it consists of, as the regular expression
//
//	(\$\$)|((?:\${([[:alpha:]_][[:word:]]*))(?:(=)([^}]*))?})|(\$)|([^$]+)
//
// does, and returns its first six groups of each.
func interpolationMatches(s string) (matches [][6]string) {
	for s != "" {
		var m [6]string
		end, ok := strings.IndexByte(s, '$'), false
		switch {
		case end < 0:
			end = len(s)
		case end > 0:
		case strings.HasPrefix(s, "$$"):
			end, m[1] = 2, "$$"
		default:
			if end, ok = interpolationVar(s, &m); !ok {
				end = 1
			}
		}
		m[0], s = s[:end], s[end:]
		matches = append(matches, m)
	}
	return matches
}

// interpolationVar finds the end of the ${var} or ${var=default} that "s" begins with.
func interpolationVar(s string, m *[6]string) (end int, ok bool) {
	name, ok := strings.CutPrefix(s, "${")
	if !ok {
		return 0, false
	}
	n := 0
	for n < len(name) && (name[n] == '_' || 'a' <= name[n] && name[n] <= 'z' || 'A' <= name[n] && name[n] <= 'Z' || n > 0 && '0' <= name[n] && name[n] <= '9') {
		n++
	}
	value, equals := strings.CutPrefix(name[n:], "=")
	length := 0
	if equals {
		length = strings.IndexByte(value, '}')
	}
	if n == 0 || length < 0 || !strings.HasPrefix(value[length:], "}") {
		return 0, false
	}
	m[3] = name[:n]
	if equals {
		m[4], m[5] = "=", value[:length]
	}
	return len(s) - len(value) + length + 1, true
}

// HasInterpolatedVar returns true if the variable "v" is interpolated in "s".
func HasInterpolatedVar(s string, v string) bool {
	matches := interpolationMatches(s)
	for _, match := range matches {
		if name := match[3]; name == v {
			return true
		}
	}
	return false
}

// Interpolate variables from vars into s for substrings in the form ${var} or ${var=default}.
func interpolate(s string, vars Vars, updatedVars map[string]string) (string, error) {
	out := ""
	matches := interpolationMatches(s)
	if len(matches) == 0 {
		return s, nil
	}
	for key, val := range updatedVars {
		if vars[key] != val {
			vars = vars.CloneWith(updatedVars)
			break
		}
	}
	for _, match := range matches {
		if dollar := match[1]; dollar != "" {
			out += "$"
		} else if name := match[3]; name != "" {
			value, ok := vars[name]
			if !ok {
				// Check for "=" rather than an empty default, as "${name=}" is an empty default.
				if match[4] == "" {
					return "", fmt.Errorf("undefined variable ${%s}", name)
				}
				value = match[5]
			}
			out += value
		} else {
			out += match[0]
		}
	}
	return out, nil
}
