package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"gt/lib/text/term"
)

// Confirm asks the person at the terminal. Any answer but yes is an error with the text not,
// and so is a missing terminal, for which flag answers.
func (e *Env) Confirm(question, not, flag string) error {
	if !term.IsTerminal(e.Stdin) {
		return Fail(AnswerNo, errors.New(not+": there is no terminal to ask on"), flag+" answers for you")
	}
	fmt.Fprint(e.Stdout, question)
	answer, _ := bufio.NewReader(e.Stdin).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return Failf(AnswerNo, "%s", not)
	}
	return nil
}

// ConfirmBusy asks the person before something is ended that is busy, as lines say. Where there
// is no terminal it refuses. not says what was not done; --now answers for the person.
func (e *Env) ConfirmBusy(lines []string, not string) error {
	if !term.IsTerminal(e.Stdin) {
		return Fail(AnswerNo, errors.New(not+": "+strings.Join(lines, "; ")), "--now does it all the same")
	}
	return e.Confirm(strings.Join(lines, "\n")+"\nGo on? [y/N] ", not, "--now")
}
