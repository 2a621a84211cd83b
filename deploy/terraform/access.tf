# Who may reach the service. Cloud Run or IAP lets nobody through that is not
# named here; what those may do there is a matter of the roles file.
locals {
  # Whoever has a role is let in; members are for groups and domains besides.
  addresses = toset(flatten([for addresses in values(var.roles) : tolist(addresses)]))
  admitted = var.auth_mode == "off" ? var.members : setunion(var.members, [
    for a in local.addresses : endswith(a, ".gserviceaccount.com") ? "serviceAccount:${a}" : "user:${a}"
  ])

  # Known before the service is there, as its own environment holds them.
  url          = "https://${var.name}-${data.google_project.this.number}.${var.region}.run.app"
  iap_audience = "/projects/${data.google_project.this.number}/locations/${var.region}/services/${var.name}"

  audiences = {
    off  = []
    iap  = [local.iap_audience]
    oidc = concat([local.url], sort(var.audiences))
  }[var.auth_mode]
}

# IAP: people sign in with their browser, IAP asks for this role and then calls
# the service as itself.
resource "google_project_service_identity" "iap" {
  provider = google-beta
  count    = var.auth_mode == "iap" ? 1 : 0

  service = "iap.googleapis.com"

  depends_on = [google_project_service.api]
}

resource "google_iap_web_cloud_run_service_iam_member" "admitted" {
  for_each = var.auth_mode == "iap" ? local.admitted : []

  location               = var.region
  cloud_run_service_name = google_cloud_run_v2_service.relay.name
  role                   = "roles/iap.httpsResourceAccessor"
  member                 = each.value
}

resource "google_cloud_run_v2_service_iam_member" "iap" {
  count = var.auth_mode == "iap" ? 1 : 0

  location = var.region
  name     = google_cloud_run_v2_service.relay.name
  role     = "roles/run.invoker"
  member   = google_project_service_identity.iap[0].member
}

# Without IAP: programs, and people with gcloud, carry an identity token.
resource "google_cloud_run_v2_service_iam_member" "admitted" {
  for_each = var.auth_mode == "iap" ? [] : local.admitted

  location = var.region
  name     = google_cloud_run_v2_service.relay.name
  role     = "roles/run.invoker"
  member   = each.value
}
