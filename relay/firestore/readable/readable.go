// Package readable reads documents over which the SDK panics: it does where one of their values
// is none that it knows, such as a reference to a database. Its errors are fit for a log and for
// lastError: the SDK's words hold the value, and are left out.
package readable

import (
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

var errUnread = errors.New("the SDK cannot read its value")

// Fields are all fields of a document, nil where there is none. Of one that the SDK cannot read as
// a whole they are those of names that it can, and err tells why.
func Fields(snap *firestore.DocumentSnapshot, names []string) (fields map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			fields, _ = Parts(snap, names)
			err = fmt.Errorf("the SDK cannot read the document: panic: %s", contracts.PanicText(p))
		}
	}()
	return snap.Data(), nil
}

// Parts are the fields of those names that the document has and the SDK can read, and why it cannot
// read the others that the document has. The SDK does not tell which names there are.
func Parts(snap *firestore.DocumentSnapshot, names []string) (fields map[string]any, unread map[string]error) {
	fields, unread = make(map[string]any), make(map[string]error)
	for _, name := range names {
		v, err := snap.DataAtPath(firestore.FieldPath{name})
		var absent *firestore.FieldNotFoundError
		switch {
		case err == nil:
			fields[name] = v
		case !errors.As(err, &absent):
			unread[name] = errUnread
		}
	}
	return fields, unread
}
