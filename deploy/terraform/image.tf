# The image. Either it is somewhere already, or this pushes the archive of `make
# image` to the repository that it makes, so that one apply is enough for a fresh
# project.
locals {
  repository = one([for r in google_artifact_registry_repository.image : "${r.location}-docker.pkg.dev/${r.project}/${r.repository_id}"])

  # The archive is the same for the same sources, so its hash names the image.
  archive_tag = var.image_archive == null ? null : "archive-${substr(filesha256(var.image_archive), 0, 16)}"
  image       = var.image_archive == null ? var.image : "${local.repository}/outbox-relay:${local.archive_tag}"
}

resource "terraform_data" "push" {
  count = var.image_archive == null ? 0 : 1

  triggers_replace = [local.image]

  # It signs in as gcloud does.
  provisioner "local-exec" {
    working_dir = "${path.module}/../.."
    command     = "go run ./deploy/cloudrun/cmd/build-image --archive \"$ARCHIVE\" --push \"$IMAGE\""
    environment = {
      ARCHIVE = abspath(var.image_archive)
      IMAGE   = local.image
    }
  }
}
