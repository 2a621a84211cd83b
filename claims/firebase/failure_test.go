package firebase

import (
	"net/http"
	"testing"

	"outboxrelay/contracts"
)

// TestRefusals: of the answers with status 400 only those that speak of what the
// record holds are its own; what is known to be the project's or ours is an outage,
// and all others may be anybody's.
func TestRefusals(t *testing.T) {
	const own, anybodys, outage = "the record's own", "anybody's", "an outage"
	for message, want := range map[string]string{
		"USER_NOT_FOUND": own, "USER_DISABLED": own, "INVALID_LOCAL_ID": own, "INVALID_CLAIMS": own, "CLAIMS_TOO_LARGE": own, "FORBIDDEN_CLAIM : aud": own,

		"INSUFFICIENT_PERMISSION": outage, "PERMISSION_DENIED": outage, "ADMIN_ONLY_OPERATION": outage,
		"API_KEY_INVALID": outage, "INVALID_API_KEY": outage,
		"CONFIGURATION_NOT_FOUND": outage, "PROJECT_NOT_FOUND": outage, "INVALID_PROJECT_ID": outage,
		"PROJECT_DISABLED": outage, "BILLING_NOT_ENABLED : x": outage, "BILLING_DISABLED: x": outage, "OPERATION_NOT_ALLOWED": outage,
		"QUOTA_EXCEEDED : x": outage, "RESOURCE_EXHAUSTED": outage, "TOO_MANY_ATTEMPTS_TRY_LATER : x": outage,

		"": anybodys, "INTERNAL_ERROR": anybodys, "TENANT_NOT_FOUND": anybodys, "A_WORD_TO_COME": anybodys,
		"User project specified in the request is invalid.": anybodys, "Invalid JSON payload received. USER_NOT_FOUND": anybodys,
	} {
		err := classify(t.Context(), &answered{status: http.StatusBadRequest, message: message})
		got := anybodys
		switch {
		case contracts.OwnOf(err):
			got = own
		case contracts.KindOf(err) == contracts.Outage:
			got = outage
		}
		if got != want {
			t.Errorf("400 %q is %s (%v, %s), want %s", message, got, contracts.KindOf(err), contracts.CodeOf(err), want)
		}
	}
}
