package admin

import (
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

// codeOf is the code of a call to Firestore that failed. The desk of the work queues returns the SDK's own errors.
func codeOf(err error) string {
	if code := contracts.CodeOf(err); code != "Unknown" {
		return code
	}
	return status.Code(err).String()
}

// away reports whether a code says that Firestore did not answer. All others are its answers.
func away(code string) bool {
	switch code {
	case "Unavailable", "DeadlineExceeded", "Canceled", "Unknown":
		return true
	}
	return false
}

// unread begins the warning of an answer without what Firestore would have told.
func unread(err error) string {
	if code := codeOf(err); !away(code) {
		return "Firestore answers " + code
	}
	return "Firestore cannot be reached"
}
