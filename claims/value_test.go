package claims

import (
	"encoding/json"
	"testing"
)

func TestCanonical(t *testing.T) {
	number := func(text string) any { return json.Number(text) }
	for _, c := range []struct {
		name string
		a, b any
		same bool
	}{
		{"an integer of Firestore's and one of a token's", int64(7), number("7"), true},
		{"a float and an integer", 7.0, number("7"), true},
		{"an integer written as a float", number("7.0"), int64(7), true},
		{"with an exponent", number("7e3"), number("7000"), true},
		{"names in another order", json.RawMessage(`{"a":1,"b":2}`), json.RawMessage(`{"b":2,"a":1}`), true},
		{"what only exact integers tell apart", int64(9007199254740993), number("9007199254740992"), false},
		{"beyond int64", number("18446744073709551617"), number("18446744073709551616"), false},
		{"beyond float64", number("1e400"), number("1e401"), false},
		{"beyond float64, and the same", number("1e400"), number("1e400"), true},
		{"deep inside", []any{map[string]any{"n": int64(9007199254740993)}}, []any{map[string]any{"n": number("9007199254740992")}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a, b := canonical(c.a), canonical(c.b); (a == b) != c.same {
				t.Errorf("%s and %s: want the same %v", a, b, c.same)
			}
		})
	}
}

// TestClaimsAreWrittenAsRead: what others wrote comes back as it was.
func TestClaimsAreWrittenAsRead(t *testing.T) {
	const text = `{"deep":{"n":[18446744073709551617,-0.0]},"huge":1e400,"id":1180591620717411303,"one":1.0,"text":"<ä & ö>"}`
	read, err := DecodeClaims([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if written, err := EncodeClaims(read); err != nil || string(written) != text {
		t.Errorf("got %s, %v, want %s", written, err, text)
	}
	for _, text := range []string{"", "[]", `{"a":`, `{} {}`} {
		if _, err := DecodeClaims([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestGivenOut(t *testing.T) {
	for _, c := range []struct {
		claim any
		want  int64
	}{
		{nil, 0},
		{json.Number("7"), 7},
		{json.Number("7.0"), 7},
		{json.Number("7.5"), 0},
		{json.Number("-7"), 0},
		{json.Number("9007199254740992"), 1 << 53},
		{json.Number("9007199254740993"), 0},
		{json.Number("1e400"), 0},
		{"7", 0},
		{[]any{7.0}, 0},
	} {
		if got := givenOut(map[string]any{"claimsVersion": c.claim}); got != c.want {
			t.Errorf("%v: got %d, want %d", c.claim, got, c.want)
		}
	}
}

func FuzzClaims(f *testing.F) {
	for _, seed := range []string{`{"id":1180591620717411303,"one":1.0,"huge":1e400}`, `{"roles":["<a>"]}`, "null", "{"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := DecodeClaims(data)
		if err != nil {
			return
		}
		written, err := EncodeClaims(read)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeClaims(written); err != nil || canonical(again) != canonical(read) {
			t.Errorf("%s became %s: %v", data, written, err)
		}
	})
}
