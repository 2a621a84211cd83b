package jobs

import "testing"

// Two or three underscores are an ID to Firestore, which keeps __x__ for itself.
func TestUnderscoresAreAnID(t *testing.T) {
	for id, want := range map[string]bool{"__": true, "___": true, "____": false, "__x__": false} {
		if isID(id) != want {
			t.Errorf("%q is an ID: %t, want %t", id, !want, want)
		}
	}
}
