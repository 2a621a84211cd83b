package switchboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// Duration is a length of time as Go writes it ("1.5s").
type Duration time.Duration

// MarshalText writes d as it is read.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what MarshalText writes; "" is zero.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = 0
		return nil
	}
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Code is a gRPC code by its name on the wire ("UNAVAILABLE").
type Code codes.Code

// MarshalText writes the name.
func (c Code) MarshalText() ([]byte, error) {
	if codes.Code(c) == codes.Canceled {
		return []byte("CANCELLED"), nil // with two Ls on the wire
	}
	var b strings.Builder
	for i, r := range codes.Code(c).String() {
		if i > 0 && r >= 'A' && r <= 'Z' && codes.Code(c) != codes.OK {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return []byte(strings.ToUpper(b.String())), nil
}

// UnmarshalText reads a name; "" is OK.
func (c *Code) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = Code(codes.OK)
		return nil
	}
	if err := (*codes.Code)(c).UnmarshalJSON([]byte(strconv.Quote(string(text)))); err != nil {
		return fmt.Errorf("unknown gRPC code %q", text)
	}
	return nil
}
