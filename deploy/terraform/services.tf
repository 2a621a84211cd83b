# The APIs of the project. Everything else waits for them.
locals {
  services = toset(concat(
    [
      "artifactregistry.googleapis.com",     # the image
      "cloudresourcemanager.googleapis.com", # the project's number and its IAM policy
      "firebaserules.googleapis.com",        # security rules
      "firestore.googleapis.com",
      "iam.googleapis.com", # the service account and its roles
      "monitoring.googleapis.com",
      "pubsub.googleapis.com",
      "run.googleapis.com",
      "secretmanager.googleapis.com", # the roles file, the catalog, the collector's settings
    ],
    local.claims_handled ? ["identitytoolkit.googleapis.com"] : [], # custom claims
    var.auth_mode == "iap" ? ["iap.googleapis.com"] : [],
    # Traces go in by the first, and are thrown away while the second is off.
    var.trace_ratio > 0 ? ["telemetry.googleapis.com", "cloudtrace.googleapis.com"] : [],
  ))
}

resource "google_project_service" "api" {
  for_each = local.services

  service = each.value

  # Others in the project may use them: terraform destroy leaves them on.
  disable_on_destroy = false
}

data "google_project" "this" {
  depends_on = [google_project_service.api]
}
