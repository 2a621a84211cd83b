output "url" {
  description = "Address of the service: the console is at /console/, the admin API at /admin/v1."
  value       = google_cloud_run_v2_service.relay.uri
}

output "audiences" {
  description = "AUTH_AUDIENCE of the service: what tokens must have been made for."
  value       = local.audiences
}

output "image" {
  description = "Image that the service runs."
  value       = local.image
}

output "repository" {
  description = "Where images are pushed to; null without create_registry."
  value       = local.repository
}

output "service_account" {
  description = "Account that the service runs as."
  value       = google_service_account.relay.email
}

output "permissions" {
  description = "Permissions of that account in its custom roles, each with the call that needs it."
  value       = { for p in local.permissions : p.name => p.call }
}

output "topics" {
  description = "Topics that the service publishes to, with what they are for."
  value       = { for name, t in local.topics : name => t.purpose }
}

output "dead_letter_subscriptions" {
  description = "Subscriptions that keep what consumers could not handle: look there when one is not empty."
  value       = sort([for s in google_pubsub_subscription.dead_letters : s.name])
}

output "dashboard" {
  description = "Dashboard in Cloud Monitoring; null without one."
  value       = one(google_monitoring_dashboard.relay[*].id)
}
