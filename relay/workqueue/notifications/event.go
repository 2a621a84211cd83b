package notifications

import (
	"errors"
	"fmt"

	"outboxrelay/contracts"
)

// maxKeyBytes keeps a dedupeKey within what Firestore indexes of a text.
const maxKeyBytes = 1400

// Scope is who is meant by an event.
type Scope string

// The scopes.
const (
	Admins              Scope = "admins"
	AdminsAndAssistants Scope = "admins_and_assistants"
	SpecificUsers       Scope = "specific_users"
)

// event is what a dispatch needs of an event's document.
type event struct {
	tenant Tenant
	id     string

	eventType, module, priority any // passed on as they are
	title, body                 any
	entityID, entityType        any
	metadata                    any

	dedupeKey string // empty: nothing is compared
	scope     Scope
	userIDs   []string // each once, in their order
	createdBy string
}

// errInvalid is of an event that no further attempt makes better.
var errInvalid = errors.New("the event is invalid")

// parse reads an event and checks it. The error is errInvalid and names the faults, maxFaults at most; the
// event has then what could be read, for the dead letter and the log.
func parse(tenant Tenant, id string, fields map[string]any) (event, error) {
	p := parser{fields: fields}
	e := event{
		tenant: tenant, id: id,
		eventType: fields[fieldEventType], module: fields[fieldModule], priority: fields[fieldPriority],
		title: fields[fieldTitle], body: fields[fieldBody],
		entityID: fields[fieldEntityID], entityType: fields[fieldEntityType], metadata: fields[fieldMetadata],
	}
	p.belongs(fieldClientID, tenant.ClientID)
	p.belongs(fieldCondominiumID, tenant.CondominiumID)
	e.createdBy = p.text(fieldCreatedBy)
	if err := checkUserID(e.createdBy); err != nil {
		p.wrong("createdBy %w", err)
	}
	if e.dedupeKey = p.text(fieldDedupeKey); len(e.dedupeKey) > maxKeyBytes {
		p.wrong("dedupeKey has more than %d bytes", maxKeyBytes)
	}
	p.channels()
	e.scope, e.userIDs = p.audience()
	if p.more > 0 {
		p.faults = append(p.faults, fmt.Errorf("and %d faults more", p.more))
	}
	if len(p.faults) > 0 {
		return e, fmt.Errorf("%w: %w", errInvalid, errors.Join(p.faults...))
	}
	return e, nil
}

// maxFaults bounds what an event's lists of a hundred thousand faults say in logs and errors.
const maxFaults = 30

// parser collects faults.
type parser struct {
	fields map[string]any
	faults []error
	more   int // faults that are counted alone
}

func (p *parser) wrong(format string, args ...any) {
	if len(p.faults) >= maxFaults {
		p.more++
		return
	}
	p.faults = append(p.faults, fmt.Errorf(format, args...))
}

// text is a field that is absent, null or a string.
func (p *parser) text(name string) string {
	switch v := p.fields[name].(type) {
	case nil:
	case string:
		return v
	default:
		p.wrong("%s is %s, want a string", name, kind(v))
	}
	return ""
}

// belongs holds the event's own word about its tenant to its path.
func (p *parser) belongs(name, want string) {
	if got, ok := p.fields[name].(string); !ok || got != want {
		p.wrong("%s is not that of the event's path", name)
	}
}

func (p *parser) channels() {
	channels, ok := p.fields[fieldChannels].([]any)
	is := kind(p.fields[fieldChannels])
	if ok {
		is = "an empty list"
	}
	if len(channels) == 0 {
		p.wrong("channels is %s, want a list that holds %q", is, channelInApp)
		return
	}
	for i, c := range channels {
		if c != channelInApp {
			p.wrong("channels[%d] is not %q", i, channelInApp)
		}
	}
}

func (p *parser) audience() (scope Scope, userIDs []string) {
	audience, ok := p.fields[fieldAudience].(map[string]any)
	if !ok {
		p.wrong("audience is %s, want a map", kind(p.fields[fieldAudience]))
		return "", nil
	}
	name, _ := audience[fieldScope].(string)
	switch scope = Scope(name); scope {
	case Admins, AdminsAndAssistants:
		return scope, nil
	case SpecificUsers:
	default:
		p.wrong("audience.scope is none of %s, %s, %s", Admins, AdminsAndAssistants, SpecificUsers)
		return scope, nil
	}
	list, ok := audience[fieldUserIDs].([]any)
	if !ok && audience[fieldUserIDs] != nil {
		p.wrong("audience.userIds is %s, want a list", kind(audience[fieldUserIDs]))
	}
	seen := make(map[string]bool, len(list))
	for i, v := range list {
		id, ok := v.(string)
		if !ok {
			p.wrong("audience.userIds[%d] is %s, want a string", i, kind(v))
		} else if err := checkUserID(id); err != nil {
			p.wrong("audience.userIds[%d] %w", i, err)
		} else if !seen[id] {
			seen[id] = true
			userIDs = append(userIDs, id)
		}
	}
	return scope, userIDs
}

// checkUserID refuses what Firestore takes for no document's ID.
func checkUserID(id string) error {
	switch {
	case id == "":
		return errors.New("is empty")
	case !contracts.IsDocumentID(id):
		return errors.New("is no document's ID")
	}
	return nil
}

// kind names a value's type without the value.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "absent or null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	default:
		return "of another type"
	}
}
