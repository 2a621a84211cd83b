package contracts

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// topicName is Pub/Sub's rule for a topic ID.
	topicName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$`)
	// targetName keeps targets fit for metric labels and message attributes.
	targetName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,99}$`)
)

// Each of these returns what is wrong with a name, or "" when it is fine.

func topicProblem(topic string) string {
	switch {
	case strings.HasPrefix(strings.ToLower(topic), "goog"):
		return "starts with goog, which Pub/Sub reserves"
	case !topicName.MatchString(topic):
		return "is not 3 to 255 letters, digits or -._~+% that start with a letter"
	case topic == TopicMetrics || topic == TopicErrors || topic == TopicRefreshSignal:
		return "is a topic of the service's own"
	}
	return ""
}

func targetProblem(target string) string {
	if !targetName.MatchString(target) {
		return "is not 1 to 100 letters, digits or _.- that start with a letter"
	}
	return ""
}

func collectionProblem(name string) string {
	switch {
	case name == "." || name == ".." || strings.Contains(name, "/"):
		return "is not a Firestore collection ID: it is . or .. or holds a slash"
	case strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__"):
		return "is reserved by Firestore, as every __name__"
	case len(name) > MaxAttributeBytes || !printable(name):
		return "is longer than 1024 bytes or holds characters that are not printable"
	case slices.Contains(Collections(), name):
		return "is a collection of the service's own"
	case name == ShareQueue || strings.HasPrefix(name, InstancePrefix):
		return "is a name of the service's own among its leases"
	}
	return ""
}

// eventTypeProblem judges an exact type or a pattern. Characters that are
// special in other pattern languages are refused, because here they would
// silently match only themselves.
func eventTypeProblem(eventType string) string {
	switch {
	case len(eventType) > 200 || !printable(eventType) || strings.Contains(eventType, " "):
		return "is longer than 200 bytes or holds spaces or characters that are not printable"
	case strings.ContainsAny(eventType, `?[]{}\`):
		return "holds one of ?[]{}\\, none of which is special here: '*' alone is"
	case strings.Contains(eventType, "**"):
		return "holds '*' twice in a row"
	}
	return ""
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
