package firestore

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fieldPath addresses a field, outermost name first.
type fieldPath []string

const nameField = "__name__"

func (p fieldPath) isName() bool { return len(p) == 1 && p[0] == nameField }

// key identifies a path: names may hold dots, so it cannot be joined by them.
func (p fieldPath) key() string { return strings.Join(p, "\x00") }

// parseFieldPath reads the path of a mask or a query, which Google's emulator wants to
// be shorter than that of a value that it stores.
func parseFieldPath(s string) (fieldPath, error) {
	path, err := parseNames(s)
	if err == nil && len(path.key()) >= maxPath {
		return nil, status.Errorf(codes.InvalidArgument, "property path is longer than %d bytes.", maxPath)
	}
	return path, err
}

// parseNames reads the form in which field paths travel: names joined by
// dots, a name that is no identifier in backticks, with a backslash before a
// backtick or a backslash.
func parseNames(s string) (fieldPath, error) {
	invalid := func() error {
		return status.Errorf(codes.InvalidArgument, "Invalid property path %q.", clip(s))
	}
	var path fieldPath
	for rest := s; ; {
		var name string
		var err error
		name, rest, err = parseSegment(rest)
		if err != nil || name == "" || len(name) > maxID {
			return nil, invalid()
		}
		path = append(path, name)
		if rest == "" {
			return path, nil
		}
		if rest[0] != '.' {
			return nil, invalid()
		}
		rest = rest[1:]
	}
}

func parseSegment(s string) (name, rest string, err error) {
	if !strings.HasPrefix(s, "`") {
		end := strings.IndexByte(s, '.')
		if end < 0 {
			end = len(s)
		}
		for i, c := range []byte(s[:end]) {
			if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
				return "", "", errUnquoted
			}
		}
		return s[:end], s[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '`':
			return b.String(), s[i+1:], nil
		case '\\':
			i++
			if i == len(s) {
				return "", "", errUnquoted
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", errUnquoted
}

var errUnquoted = status.Error(codes.InvalidArgument, "unquoted or unfinished name")

func parseFieldPaths(paths []string) ([]fieldPath, error) {
	parsed := make([]fieldPath, len(paths))
	for i, p := range paths {
		var err error
		if parsed[i], err = parseFieldPath(p); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}
