# Files that the containers read, kept in Secret Manager and mounted. None holds
# a key: the relay has none. A revision names the version it was made with, so a
# change is rolled out as a new revision, and a rollback brings the old file back.
locals {
  roles_file = yamlencode({ roles = { for role, addresses in var.roles : role => sort(addresses) } })

  files = merge(
    { monitoring = file("${path.module}/runmonitoring.yaml") },
    var.auth_mode == "off" ? {} : { roles = local.roles_file },
    var.catalog_file == null ? {} : { catalog = file(var.catalog_file) },
  )
}

resource "google_secret_manager_secret" "file" {
  for_each = toset(keys(local.files))

  secret_id = "${var.name}-${each.key}"

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.api]
}

resource "google_secret_manager_secret_version" "file" {
  for_each = local.files

  secret      = google_secret_manager_secret.file[each.key].id
  secret_data = each.value

  # Stays when another takes its place: the revision that mounts it can be rolled
  # back to.
  deletion_policy = "ABANDON"
}

resource "google_secret_manager_secret_iam_member" "reads" {
  for_each = local.files

  secret_id = google_secret_manager_secret.file[each.key].id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.relay.member
}
