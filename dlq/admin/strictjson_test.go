package admin

import "testing"

func TestNamesThatCountAsOneStandOnce(t *testing.T) {
	for body, twice := range map[string]bool{
		`{"ids":["a"],"ids":["b"]}`:                            true,
		`{"ids":["a"],"IDS":["b"]}`:                            true,
		"{\"ids\":[\"a\"],\"id\u017f\":[\"b\"]}":               true, // a long s, which encoding/json takes for one
		"{\"tok\":1,\"to\u212a\":2}":                           true, // the sign of Kelvin
		"{\"\u03b8\":1,\"\u03f4\":2}":                          true, // forms of theta
		`{"id":"a","ids":["b"],"pin":"c"}`:                     false,
		`{"filter":{"eventId":"a"},"ids":[{"eventId":"b"},1]}`: false,
	} {
		if err := checkJSON([]byte(body)); (err != nil) != twice {
			t.Errorf("%s: %v, want it refused: %t", body, err, twice)
		}
	}
}
