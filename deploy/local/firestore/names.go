package firestore

import (
	"crypto/rand"
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxID is the longest document ID, collection ID and field name, in bytes.
const maxID = 1500

// splitName cuts a resource name into its database
// ("projects/P/databases/D") and the path below the root, which is empty for
// the root itself.
func splitName(name string) (database, path string, err error) {
	parts := strings.SplitN(name, "/", 6)
	if len(parts) < 5 || parts[0] != "projects" || parts[1] == "" || parts[2] != "databases" ||
		parts[3] == "" || parts[4] != "documents" {
		return "", "", status.Errorf(codes.InvalidArgument, "Resource name %q is not of the form projects/*/databases/*/documents/*", clip(name))
	}
	database = name[:len(parts[0])+len(parts[1])+len(parts[2])+len(parts[3])+3]
	if len(parts) == 6 {
		path = parts[5]
	}
	return database, path, nil
}

// splitDocumentName is splitName for the name of a document, its segments
// checked.
func splitDocumentName(name string) (database, path string, err error) {
	database, path, err = splitName(name)
	if err != nil {
		return "", "", err
	}
	if path == "" || strings.Count(path, "/")%2 == 0 {
		return "", "", status.Errorf(codes.InvalidArgument, "Document name %q lacks an even number of segments below /documents", clip(name))
	}
	return database, path, checkSegments(path)
}

// splitParent is splitName for a parent: the root or a document.
func splitParent(name string) (database, path string, err error) {
	if strings.HasSuffix(name, "/documents") && strings.Count(name, "/") == 4 {
		return splitName(name)
	}
	return splitDocumentName(name)
}

// checkDatabase accepts "projects/P/databases/D" and nothing else.
func checkDatabase(name string) error {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[1] == "" || parts[2] != "databases" || parts[3] == "" {
		return status.Errorf(codes.InvalidArgument, "Database name %q is not of the form projects/*/databases/*", clip(name))
	}
	return nil
}

// numericID is the one reserved form that is an ID: that of a number.
var numericID = regexp.MustCompile("^__id[0-9]+__$")

func checkSegments(path string) error {
	for path != "" {
		var segment string
		segment, path, _ = strings.Cut(path, "/")
		if err := checkID(segment); err != nil {
			return err
		}
	}
	return nil
}

// checkID holds an ID of a document or a collection to Firestore's rules.
func checkID(id string) error {
	switch {
	case id == "":
		return status.Error(codes.InvalidArgument, "A document or collection ID must not be empty")
	case id == "." || id == "..":
		return status.Errorf(codes.InvalidArgument, "Resource id %q is invalid because it is \".\" or \"..\".", id)
	case len(id) > maxID:
		return status.Errorf(codes.InvalidArgument, "The key path element name is longer than %d bytes.", maxID)
	case reserved(id) && !numericID.MatchString(id):
		return status.Errorf(codes.InvalidArgument, "Resource id %q is invalid because it is reserved.", id)
	}
	return nil
}

// reserved reports whether a name is of the form __.+__.
func reserved(name string) bool {
	return len(name) > 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// parentOf is the path of the collection that holds a document.
func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// collectionID is the last segment of the path of a collection.
func collectionID(collection string) string {
	return collection[strings.LastIndexByte(collection, '/')+1:]
}

// newID is a document ID of the form that clients generate: 20 letters and digits.
func newID() string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b)
}

// clip keeps names in error messages to a readable length.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
