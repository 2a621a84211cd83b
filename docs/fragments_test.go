// Package docs holds the pages of this repository to its code.
package docs

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A frame is what a fragment of Go takes for granted: what it imports, and what stands around
// it, with %s in its place.
type frame struct {
	imports []string
	around  string
}

// frames are those of the fragments of each page, in their order. A fragment with a package
// clause needs none.
var frames = map[string][]frame{
	"contracts/README.md": {
		{[]string{"outboxrelay/contracts"}, `func _(documentID string, fields map[string]any) { %s }`},
		{[]string{"context", "testing", "outboxrelay/contracts", "outboxrelay/contracts/contracttest"}, `
			var catalog *contracts.Catalog
			type notifications struct{}
			func newNotifications(*testing.T) *notifications
			func (*notifications) Handle(context.Context, *contracts.Message) error
			func (*notifications) Sent() []string
			%s`},
	},
	"docs/CONSUMERS.md": {
		{},
		{[]string{"cloud.google.com/go/pubsub/v2", "github.com/jackc/pgx/v5/pgxpool"}, `func _(config *pgxpool.Config, subscriber *pubsub.Subscriber) { %s }`},
	},
	"docs/PRODUCERS.md": {
		{},
		{[]string{"outboxrelay/contracts/outbox"}, `func _(versionBase int64, account struct{ Version int64 }) outbox.Event { return outbox.Event{ %s } }`},
	},
	"docs/outbox.md": {
		{[]string{"context", "github.com/jackc/pgx/v5", "outboxrelay/relay/postgres"}, `
			func _(ctx context.Context, tx pgx.Tx, order struct{ ID string }) { %s }`},
		{[]string{
			"context", "cloud.google.com/go/pubsub/v2", "github.com/redis/go-redis/v9",
			"outboxrelay/contracts/inbox", "outboxrelay/contracts/inbox/redis", "outboxrelay/relay/postgres",
		}, `func _(ctx context.Context, client *goredis.Client, subscriber *pubsub.Subscriber) { %s }`},
		{[]string{"context", "time", "outboxrelay/contracts/inbox"}, `func _(ctx context.Context, store inbox.Store, eventID string) { %s }`},
	},
}

// What the pages say in Go is Go, of this code: it compiles.
func TestGoOfThePagesCompiles(t *testing.T) {
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range pages(t) {
		fragments := fenced(text, "go")
		if len(fragments) != len(frames[name]) {
			t.Errorf("%s has %d fragments of Go, of which frames knows %d", name, len(fragments), len(frames[name]))
			continue
		}
		for i, fragment := range fragments {
			f, err := frames[name][i].parse(fset, fmt.Sprintf("%s, fragment %d", name, i+1), fragment)
			if err != nil {
				t.Error(err)
				continue
			}
			files = append(files, f)
		}
	}
	for _, err := range compile(t, fset, files) {
		t.Error(err)
	}
}

// A fragment that names what is not there does not compile.
func TestGoThatIsWrongIsFound(t *testing.T) {
	for text, want := range map[string]string{
		`contracts.LoadNothing("")`:             "LoadNothing",
		`var r contracts.Record; _ = r.Nothing`: "Nothing",
		`contracts.LoadCatalog(1)`:              "cannot use 1",
	} {
		fset := token.NewFileSet()
		f, err := frame{[]string{"outboxrelay/contracts"}, "func _() { %s }"}.parse(fset, "a page", text)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(compile(t, fset, []*ast.File{f})...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to name %s", text, err, want)
		}
	}
}

// leftOut is what a fragment does not spell out.
var leftOut = regexp.MustCompile(`\{ (\.\.\.|…) \}`)

func (f frame) parse(fset *token.FileSet, name, fragment string) (*ast.File, error) {
	text := fragment
	if !strings.Contains(fragment, "\npackage ") {
		var b strings.Builder
		b.WriteString("package p\n")
		for _, path := range f.imports {
			fmt.Fprintf(&b, "import %s %q\n", names[path], path)
		}
		fmt.Fprintf(&b, f.around, "\n//line :1\n"+leftOut.ReplaceAllString(fragment, "{ panic(0) }")+"\n")
		text = b.String()
	}
	return parser.ParseFile(fset, name, text, 0)
}

// names are those that packages go by where another has theirs.
var names = map[string]string{"github.com/redis/go-redis/v9": "goredis"}

// compile checks the types of files, each a package of its own, and returns what is wrong. A fragment
// need not use all that it declares.
func compile(t *testing.T, fset *token.FileSet, files []*ast.File) (wrong []error) {
	t.Helper()
	paths := make(map[string]bool)
	for _, f := range files {
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			paths[path] = true
		}
	}
	exports := exported(t, slices.Sorted(maps.Keys(paths)))
	config := types.Config{
		Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); !ok || !e.Soft {
				wrong = append(wrong, err)
			}
		},
	}
	for _, f := range files {
		_, _ = config.Check(f.Name.Name, fset, []*ast.File{f}, nil) // Error has what is wrong
	}
	return wrong
}

// exported returns the files that hold what packages export, and those that they are made of. They are without the race detector,
// whatever GOFLAGS has: it needs cgo.
func exported(t *testing.T, packages []string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-race=false", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as everything else is built, so that little has to be
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list what the fragments import: %v\n%s", err, &stderr)
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files
}
