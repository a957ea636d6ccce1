package cli

import "gt/lib/text/term"

// JSON writes v to standard output as one line, for --json.
func (e *Env) JSON(v any) error {
	line, err := term.JSON(v)
	if err != nil {
		return err
	}
	_, err = e.Stdout.Write(line)
	return err
}
