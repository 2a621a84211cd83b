package notifications

import (
	"fmt"
	"strings"
)

// Tenant is a condominium of a client.
type Tenant struct{ ClientID, CondominiumID string }

// Path is that of the condominium's document, relative to the database.
func (t Tenant) Path() string { return "clients/" + t.ClientID + "/condominiums/" + t.CondominiumID }

// String is the tenant in a log or a key.
func (t Tenant) String() string { return t.ClientID + "/" + t.CondominiumID }

// tenantIn reads the tenant from an event's path, relative to the database, which is what
// the event's fields are held to.
func tenantIn(path string) (Tenant, error) {
	s := strings.Split(path, "/")
	if len(s) != 6 || s[0] != "clients" || s[2] != "condominiums" || s[4] != CollectionEvents {
		return Tenant{}, fmt.Errorf("%w: it is not in clients/{clientId}/condominiums/{condominiumId}/%s", errInvalid, CollectionEvents)
	}
	return Tenant{s[1], s[3]}, nil
}
