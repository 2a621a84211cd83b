package pubsub

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

// kinds says what each answer of Pub/Sub means for the record. An answer that
// is not in it is Attributable.
var kinds = map[codes.Code]contracts.Kind{
	// The service read the message and will never take it.
	codes.InvalidArgument: contracts.Permanent,
	codes.OutOfRange:      contracts.Permanent, // a size beyond its limits

	// Nothing about the message: every other message would fare the same.
	codes.Unavailable:        contracts.Outage,
	codes.DeadlineExceeded:   contracts.Outage,
	codes.ResourceExhausted:  contracts.Outage, // quota
	codes.PermissionDenied:   contracts.Outage, // a role was taken away; someone gives it back
	codes.Unauthenticated:    contracts.Outage,
	codes.NotFound:           contracts.Outage, // the topic is missing; someone creates it
	codes.FailedPrecondition: contracts.Outage, // the topic's key or storage is out of order
	codes.Canceled:           contracts.Outage, // our own stop, or a connection that was closed

	// The service failed over this call, or gave an answer that a publish has no
	// business to get. It may be the message: it must not wait for ever.
	codes.Internal:      contracts.Attributable,
	codes.Unknown:       contracts.Attributable,
	codes.Aborted:       contracts.Attributable,
	codes.AlreadyExists: contracts.Attributable,
	codes.DataLoss:      contracts.Attributable,
	codes.Unimplemented: contracts.Attributable,
}

// Codes beyond those of gRPC.
const (
	codeTooLarge    = "TooLarge"    // over Pub/Sub's limit, or over what the connection takes
	codeInvalidText = "InvalidText" // a key or attribute that is not UTF-8
	codeStopped     = "Stopped"     // the target is closed
)

// classify gives a publish error its kind and code.
func classify(err error) *contracts.Failure {
	if failure, ok := errors.AsType[*contracts.Failure](err); ok {
		return failure
	}
	code := codeOf(err)
	text := err.Error()
	switch {
	case code == codes.ResourceExhausted && strings.Contains(text, "larger than max"):
		// gRPC's word for a message over the receiver's limit, not a quota.
		return &contracts.Failure{Kind: contracts.Permanent, Code: codeTooLarge, Err: err}
	case code == codes.Internal && strings.Contains(text, "invalid UTF-8"):
		// The message cannot even be encoded.
		return &contracts.Failure{Kind: contracts.Permanent, Code: codeInvalidText, Err: err}
	}
	return &contracts.Failure{Kind: kinds[code], Code: code.String(), Err: err}
}

// codeOf is the gRPC code of err. A bare context error ended a wait: for a key,
// for room, or of the client before it tried again.
func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	}
	return status.Code(err)
}

// tooLargeFailure is that of a message that can never be published.
func tooLargeFailure(bytes int) *contracts.Failure {
	return &contracts.Failure{
		Kind: contracts.Permanent, Code: codeTooLarge,
		Err: fmt.Errorf("publish message: %d bytes, at most %d", bytes, maxMessageBytes),
	}
}

// stoppedFailure is that of every message after the stop.
func stoppedFailure() *contracts.Failure {
	return &contracts.Failure{Kind: contracts.Outage, Code: codeStopped, Err: errors.New("publish message: the publisher is stopped")}
}
