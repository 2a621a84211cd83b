# The account that the service runs as. It may do what the service's own calls
# need, each named with its call in requirements.json, and no more: custom roles
# rather than roles/datastore.user, which may also export, or roles/pubsub.publisher
# on every topic of the project.
resource "google_service_account" "relay" {
  account_id   = var.name
  display_name = "outbox-relay"
  description  = "Runs the Cloud Run service ${var.name}"

  depends_on = [google_project_service.api]
}

locals {
  # A role for each API, as each is granted on another resource: Firestore's on
  # the database, Pub/Sub's on each topic, Firebase Auth's on the project.
  permissions_by_service = { for p in local.permissions : p.service => p.name... }
}

resource "google_project_iam_custom_role" "relay" {
  for_each = local.permissions_by_service

  role_id     = replace("${var.name}-${split(".", each.key)[0]}", "-", "_")
  title       = "${var.name}: ${each.key}"
  description = "What the calls of outbox-relay need of ${each.key}"
  permissions = sort(distinct(each.value))

  depends_on = [google_project_service.api]
}

resource "google_project_iam_member" "firestore" {
  project = var.project
  role    = google_project_iam_custom_role.relay["firestore.googleapis.com"].id
  member  = google_service_account.relay.member

  condition {
    title       = "one database"
    description = "No other Firestore database of the project"
    expression  = "resource.name == \"projects/${var.project}/databases/${var.firestore_database}\""
  }
}

resource "google_pubsub_topic_iam_member" "publish" {
  for_each = local.topics

  topic  = google_pubsub_topic.relay[each.key].id
  role   = google_project_iam_custom_role.relay["pubsub.googleapis.com"].id
  member = google_service_account.relay.member
}

# Firebase Auth knows no smaller resource than the project.
resource "google_project_iam_member" "project" {
  for_each = { for service, role in google_project_iam_custom_role.relay : service => role.id if !contains(["firestore.googleapis.com", "pubsub.googleapis.com"], service) }

  project = var.project
  role    = each.value
  member  = google_service_account.relay.member
}

# Google's own collector beside the relay asks for this role by name, and its
# permissions are Google's to change. The relay's metrics go no other way.
resource "google_project_iam_member" "metrics" {
  project = var.project
  role    = "roles/monitoring.metricWriter"
  member  = google_service_account.relay.member
}

resource "google_project_iam_member" "traces" {
  count = var.trace_ratio > 0 ? 1 : 0

  project = var.project
  role    = "roles/telemetry.tracesWriter"
  member  = google_service_account.relay.member
}
