package publisher

// isObject tells whether a payload, as the database writes it, is a JSON object, as an envelope is.
func isObject(payload []byte) bool { return len(payload) > 0 && payload[0] == '{' }

// shapelessText is the last_error of a row of which that is not so. No consumer could read it, and nothing
// makes it right, as the payload of a row never changes: so it is parked at once.
const shapelessText = "payload_json is no JSON object: append the event anew under another ID, and set published_at of this row"
