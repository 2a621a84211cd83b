package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// IsTerminal reports whether w is one that can be drawn on.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// CanAnswer reports whether somebody sits at its standard input.
func (p Process) CanAnswer() bool {
	f, ok := p.Stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Agrees asks on standard error, and reports whether the answer is yes.
func (p Process) Agrees(question string) (bool, error) {
	fmt.Fprint(p.Stderr, question)
	line, err := bufio.NewReader(p.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read answer: %w", err)
	}
	said := strings.ToLower(strings.TrimSpace(line))
	return said == "y" || said == "yes", nil
}
