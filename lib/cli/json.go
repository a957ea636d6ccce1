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

// JSONLines writes each of all as JSON does, on a line of its own.
func JSONLines[T any](env *Env, all []T) error {
	for _, v := range all {
		if err := env.JSON(v); err != nil {
			return err
		}
	}
	return nil
}
