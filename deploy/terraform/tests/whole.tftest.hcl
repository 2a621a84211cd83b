# The whole configuration, on the provider's own schema with nothing behind it: no
# credentials, no project. It needs the provider, so run it where that can be had:
#
#   terraform init -backend=false && terraform test
mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
  mock_resource "google_cloud_run_v2_service" {
    defaults = { uri = "https://outbox-relay-123456789012.europe-west1.run.app" }
  }
  mock_resource "google_service_account" {
    defaults = {
      email  = "outbox-relay@my-project.iam.gserviceaccount.com"
      member = "serviceAccount:outbox-relay@my-project.iam.gserviceaccount.com"
    }
  }
}

mock_provider "google-beta" {
  mock_resource "google_project_service_identity" {
    defaults = { member = "serviceAccount:service-123456789012@gcp-sa-iap.iam.gserviceaccount.com" }
  }
}

variables {
  project             = "my-project"
  image               = "europe-west1-docker.pkg.dev/my-project/outbox-relay/outbox-relay:1.2.3"
  roles               = { operator = ["alice@example.com"], security = ["bob@example.com", "deployer@my-project.iam.gserviceaccount.com"] }
  notification_emails = ["oncall@example.com"]
}

run "iap" {
  assert {
    condition     = google_cloud_run_v2_service.relay.iap_enabled && join(" ", output.audiences) == "/projects/123456789012/locations/europe-west1/services/outbox-relay"
    error_message = "IAP's audience names the project by number, the region and the service."
  }
  assert {
    condition     = join(" ", keys(google_iap_web_cloud_run_service_iam_member.admitted)) == "serviceAccount:deployer@my-project.iam.gserviceaccount.com user:alice@example.com user:bob@example.com"
    error_message = "Whoever has a role is let through, with the kind of address it is."
  }
  assert {
    condition     = length(google_cloud_run_v2_service_iam_member.admitted) == 0 && google_cloud_run_v2_service_iam_member.iap[0].role == "roles/run.invoker"
    error_message = "Behind IAP nobody but IAP itself calls the service."
  }
  assert {
    condition     = one([for c in google_cloud_run_v2_service.relay.template[0].containers : c.resources[0].cpu_idle if c.name == "relay"]) == false
    error_message = "CPU is always allocated."
  }
  assert {
    condition     = length(google_firebaserules_release.firestore) == 0
    error_message = "Rules that are there are not replaced without being asked."
  }
  assert {
    condition     = length(google_pubsub_topic_iam_member.publish) == length(google_pubsub_topic.relay)
    error_message = "The account may publish to each topic."
  }
  expect_failures = [check.every_topic_is_read]
}

run "oidc" {
  variables {
    auth_mode     = "oidc"
    audiences     = ["https://relay.example.com"]
    members       = ["group:oncall@example.com"]
    release_rules = true
    trace_ratio   = 0.01
  }
  assert {
    condition     = join(" ", output.audiences) == "https://outbox-relay-123456789012.europe-west1.run.app https://relay.example.com"
    error_message = "Tokens are for the service's address or one of audiences."
  }
  assert {
    condition     = contains(keys(google_cloud_run_v2_service_iam_member.admitted), "group:oncall@example.com") && length(google_project_service_identity.iap) == 0
    error_message = "Without IAP, Cloud Run lets members through."
  }
  assert {
    condition     = google_firebaserules_release.firestore[0].name == "cloud.firestore"
    error_message = "The rules of the default database are released under its name."
  }
  expect_failures = [check.every_topic_is_read]
}

run "subscriptions" {
  variables {
    firestore_database = "outboxes"
    release_rules      = true
    pubsub_regions     = ["europe-west1"]
    subscriptions = {
      errors = { topic = "domain-errors", consumers = ["group:oncall@example.com", "serviceAccount:errors@my-project.iam.gserviceaccount.com"], max_delivery_attempts = 7 }
      pushed = { topic = "domain-errors", push = { endpoint = "https://errors.example.com/push", service_account = "push@my-project.iam.gserviceaccount.com" } }
    }
  }
  assert {
    condition     = google_pubsub_subscription.consumer["errors"].dead_letter_policy[0].max_delivery_attempts == 7 && length(google_pubsub_subscription_iam_member.consumer) == 2
    error_message = "A subscription is as it was asked for."
  }
  assert {
    condition     = google_pubsub_subscription.consumer["pushed"].push_config[0].oidc_token[0].audience == "https://errors.example.com/push"
    error_message = "A push is for its endpoint unless an audience is given."
  }
  assert {
    condition     = length(google_pubsub_subscription_iam_member.dead_letters) == 2
    error_message = "Pub/Sub itself may move dead letters away from each subscription."
  }
  assert {
    condition     = google_firebaserules_release.firestore[0].name == "cloud.firestore/outboxes" && google_project_iam_member.firestore.condition[0].expression == "resource.name == \"projects/my-project/databases/outboxes\""
    error_message = "Another database has rules of its own, and the account may use that one alone."
  }
  expect_failures = [check.every_topic_is_read]
}

run "unknown_topic" {
  command = plan

  variables {
    subscriptions = { tags = { topic = "no-such-topic" } }
  }
  expect_failures = [google_pubsub_subscription.consumer, check.every_topic_is_read]
}
