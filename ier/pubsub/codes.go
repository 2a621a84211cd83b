package pubsub

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gpubsub "cloud.google.com/go/pubsub/v2"
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
	codeUndrained   = "Undrained"   // no answer within the time after a stop; it may still arrive
	codePaused      = "Paused"      // the client kept the key paused for no reason that it told
)

// classify gives a publish error its kind and code.
func classify(err error) *contracts.Failure {
	switch {
	case errors.Is(err, gpubsub.ErrOversizedMessage):
		return &contracts.Failure{Kind: contracts.Permanent, Code: codeTooLarge, Err: err}
	case errors.Is(err, gpubsub.ErrPublisherStopped):
		return &contracts.Failure{Kind: contracts.Outage, Code: codeStopped, Err: err}
	}
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

// codeOf is the gRPC code of err. The client returns a bare context error when
// a deadline ends its own waiting.
func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	}
	return status.Code(err)
}

// maxMessageBytes is the most that a message may take: Pub/Sub's 10 MB for a
// request, less room for the topic's name. The limit is kept here because the
// client never forgets the ordering key of a message that it finds too large.
const maxMessageBytes = gpubsub.MaxPublishRequestBytes - 1024

// checkSize fails when msg can never be published. It reckons a little more
// than the encoding takes.
func checkSize(msg *contracts.Message) error {
	const perField = 16
	size := len(msg.Data) + len(msg.OrderingKey) + 2*perField
	for name, value := range msg.Attributes {
		size += len(name) + len(value) + perField
	}
	if size > maxMessageBytes {
		return &contracts.Failure{
			Kind: contracts.Permanent, Code: codeTooLarge,
			Err: fmt.Errorf("publish message: %d bytes, at most %d", size, int(maxMessageBytes)),
		}
	}
	return nil
}
