package relay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// recoveryTable is the part of the package's documentation that says who comes back
// to what.
func recoveryTable(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(file.Doc.Text(), "# Who comes back to what")
	if !found {
		t.Fatal("the package's documentation does not say who comes back to what")
	}
	return table
}

// testsOf are the test functions of a package, by its path in the module.
func testsOf(t *testing.T, path string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(path), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// namedTest is a test as the table names it, and row the first line of a row.
var (
	namedTest = regexp.MustCompile(`([a-z/]+)\.(Test\w+)`)
	row       = regexp.MustCompile(`(?m)^\t\S.*$`)
)

// Every test that the table names exists.
func TestTheTestsOfTheRecoveryTableExist(t *testing.T) {
	tests := make(map[string][]string)
	named := namedTest.FindAllStringSubmatch(recoveryTable(t), -1)
	if len(named) < 30 {
		t.Errorf("the table names %d tests, which is less than its rows", len(named))
	}
	for _, name := range named {
		path := name[1]
		if tests[path] == nil {
			tests[path] = testsOf(t, path)
		}
		if !slices.Contains(tests[path], name[2]) {
			t.Errorf("the table names %s, which does not exist", name[0])
		}
	}
}

// Every row of the table names its test, at its end.
func TestEveryRowOfTheRecoveryTableHasItsTest(t *testing.T) {
	var open string // the row that is being read
	for line := range strings.Lines(recoveryTable(t)) {
		switch {
		case open != "" && !strings.HasPrefix(line, "\t"):
			t.Errorf("row %q names no test", open)
			open = ""
		case namedTest.MatchString(line):
			open = ""
		case open == "" && row.MatchString(line):
			open = strings.TrimSpace(line)
		}
	}
}

// Every state that a document may have has a row.
func TestEveryStateHasItsRow(t *testing.T) {
	var states []string
	for _, s := range contracts.Statuses() {
		states = append(states, string(s))
	}
	for _, row := range slices.Concat(dlq.Transitions(), dlq.OrphanTransitions()) {
		states = append(states, string(row.From.State), string(row.To.State))
	}
	for _, s := range []dlq.FreezeState{dlq.Frozen, dlq.Releasing} {
		states = append(states, string(s))
	}
	for _, s := range []dlq.BulkState{dlq.BulkRunning, dlq.BulkDone, dlq.BulkStopped, dlq.BulkCancelled} {
		states = append(states, string(s))
	}
	table := recoveryTable(t)
	slices.Sort(states)
	for _, s := range slices.Compact(states) {
		if !regexp.MustCompile(`(?m)^\t[^\t]*\b` + s + `\b`).MatchString(table) {
			t.Errorf("no row is about %s", s)
		}
	}
}
