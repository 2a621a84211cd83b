package docs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// unread are what is not the repository's own, by name or by path: what .gitignore has.
var unread = []string{".git", ".idea", ".outbox-relay", ".terraform", ".vscode", "bin", "contracts/node/build*", "data", "dist", "node_modules"}

func isUnread(name string) bool {
	return slices.ContainsFunc(unread, func(pattern string) bool {
		whole, _ := path.Match(pattern, name)
		return whole || path.Base(name) == pattern
	})
}

// files returns the texts of those files below dir that are wanted, by their paths. What is no file, such as an editor's
// lock or a socket, has none; what is gone once it is read, such as what the tests of another package made, was not the repository's.
func files(repository fs.FS, dir string, wanted func(name string) bool) (map[string]string, error) {
	all := make(map[string]string)
	err := fs.WalkDir(repository, dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case name != dir && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && isUnread(name):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !wanted(name):
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		all[name] = string(text)
		return err
	})
	return all, err
}

// losing is a directory from which some has gone since it was listed.
type losing struct{ fstest.MapFS }

func (l losing) Open(name string) (fs.File, error) {
	if strings.Contains(name, "gone") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return l.MapFS.Open(name)
}

func (l losing) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, err := l.Open(name); err != nil {
		return nil, err
	}
	return l.MapFS.ReadDir(name)
}

func (l losing) ReadFile(name string) ([]byte, error) {
	if _, err := l.Open(name); err != nil {
		return nil, err
	}
	return l.MapFS.ReadFile(name)
}

// What a directory in use has beside the repository's own does not matter.
func TestFilesAreTheRepositorysOwn(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{Data: []byte("text")}
	got, err := files(losing{fstest.MapFS{
		"a.md": file, "cmd/build-image/b.md": file, "c.go": file,
		"bin/d.md": file, "web/node_modules/e.md": file, "contracts/node/build-1/f.md": file, ".outbox-relay/g.md": file,
		".#a.md": {Mode: fs.ModeSymlink}, "socket.md": {Mode: fs.ModeSocket}, "gone.md": file, "gone/h.md": file,
	}}, ".", func(name string) bool { return strings.HasSuffix(name, ".md") })
	if diff := cmp.Diff(map[string]string{"a.md": "text", "cmd/build-image/b.md": "text"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := files(fstest.MapFS{}, "moved", func(string) bool { return true }); err == nil {
		t.Error("there is nothing where files are looked for, and no error")
	}
}
