# The repository of the image. Old images go by themselves, the latest stay.
resource "google_artifact_registry_repository" "image" {
  count = var.create_registry ? 1 : 0

  repository_id = var.name
  location      = var.region
  format        = "DOCKER"
  description   = "Images of ${var.name}"

  docker_config {
    immutable_tags = true # a tag that stands in a state file names one image for good
  }

  cleanup_policies {
    id     = "keep-latest"
    action = "KEEP"
    most_recent_versions {
      keep_count = 20
    }
  }

  cleanup_policies {
    id     = "delete-old"
    action = "DELETE"
    condition {
      older_than = "${30 * 24 * 3600}s"
    }
  }

  depends_on = [google_project_service.api]
}
