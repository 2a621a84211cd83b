// Code generated from enums.yaml by make generate. DO NOT EDIT.

package postgres

import "slices"

// AggregateType is a value of the column aggregate_type.
type AggregateType string

// The values of AggregateType.
const (
	AggregateVendorOrder   AggregateType = "vendor_order"
	AggregateCheckoutGroup AggregateType = "checkout_group"
	AggregateLicense       AggregateType = "license"
	AggregateStore         AggregateType = "store"
	AggregateMedia         AggregateType = "media"
	AggregateLedgerEvent   AggregateType = "ledger_event"
	AggregateNotification  AggregateType = "notification"
	AggregateAd            AggregateType = "ad"
)

var allAggregateTypes = []AggregateType{
	AggregateVendorOrder,
	AggregateCheckoutGroup,
	AggregateLicense,
	AggregateStore,
	AggregateMedia,
	AggregateLedgerEvent,
	AggregateNotification,
	AggregateAd,
}

// AggregateTypes are all values, in the order of the database.
func AggregateTypes() []AggregateType { return slices.Clone(allAggregateTypes) }

// Valid says whether it is one of AggregateTypes.
func (v AggregateType) Valid() bool { return slices.Contains(allAggregateTypes, v) }

// ParseAggregateType reads a value; the error for what is none says which there are.
func ParseAggregateType(text string) (AggregateType, error) {
	return parse("aggregate_type", text, allAggregateTypes)
}

// EventType is a value of the column event_type.
type EventType string

// The values of EventType.
const (
	OrderCreated          EventType = "order_created"
	OrderStateChanged     EventType = "order_state_changed"
	LineItemStateChanged  EventType = "line_item_state_changed"
	LicenseStatusChanged  EventType = "license_status_changed"
	MediaUploaded         EventType = "media_uploaded"
	PaymentSettled        EventType = "payment_settled"
	CashCollected         EventType = "cash_collected"
	VendorPayoutRecorded  EventType = "vendor_payout_recorded"
	NotificationRequested EventType = "notification_requested"
	OrderExpired          EventType = "order_expired"
	OrderCanceled         EventType = "order_canceled"
	ReservationReleased   EventType = "reservation_released"
	AdCreated             EventType = "ad_created"
	AdUpdated             EventType = "ad_updated"
	AdPaused              EventType = "ad_paused"
	AdActivated           EventType = "ad_activated"
	AdExpired             EventType = "ad_expired"
	AdDailyRollupReady    EventType = "ad_daily_rollup_ready"
)

var allEventTypes = []EventType{
	OrderCreated,
	OrderStateChanged,
	LineItemStateChanged,
	LicenseStatusChanged,
	MediaUploaded,
	PaymentSettled,
	CashCollected,
	VendorPayoutRecorded,
	NotificationRequested,
	OrderExpired,
	OrderCanceled,
	ReservationReleased,
	AdCreated,
	AdUpdated,
	AdPaused,
	AdActivated,
	AdExpired,
	AdDailyRollupReady,
}

// EventTypes are all values, in the order of the database.
func EventTypes() []EventType { return slices.Clone(allEventTypes) }

// Valid says whether it is one of EventTypes.
func (v EventType) Valid() bool { return slices.Contains(allEventTypes, v) }

// ParseEventType reads a value; the error for what is none says which there are.
func ParseEventType(text string) (EventType, error) { return parse("event_type", text, allEventTypes) }
