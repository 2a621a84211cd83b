# The service. deploy/cloudrun/service.yaml says the same for gcloud, and a test
# compares the two.
locals {
  mounts = {
    roles   = "/etc/outbox-relay"
    catalog = "/etc/outbox-relay-catalog"
  }
  file_names = {
    roles      = "roles.yaml"
    catalog    = "catalog.yaml"
    monitoring = "config.yaml"
  }
  relay_files = [for name in sort(keys(local.files)) : name if contains(keys(local.mounts), name)]

  environment = merge(
    {
      GOOGLE_CLOUD_PROJECT = var.project
      FIRESTORE_DATABASE   = var.firestore_database
      STOP_BUDGET          = "8s" # Cloud Run kills ten seconds after SIGTERM
      LEASE_TERM           = "15s"
      GOMEMLIMIT           = "${floor(local.memory_mib * 0.9)}MiB"
    },
    var.auth_mode == "off" ? {} : {
      AUTH_MODE     = var.auth_mode
      AUTH_AUDIENCE = join(",", local.audiences)
      ROLES_FILE    = "${local.mounts.roles}/${local.file_names.roles}"
    },
    var.catalog_file == null ? {} : { CATALOG = "${local.mounts.catalog}/${local.file_names.catalog}" },
    var.trace_ratio == 0 ? {} : {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = "https://telemetry.googleapis.com:443"
      OTEL_TRACES_SAMPLER                = "parentbased_traceidratio"
      OTEL_TRACES_SAMPLER_ARG            = tostring(var.trace_ratio)
      OTEL_SERVICE_NAME                  = var.name
    },
    length(var.stand_ins) == 0 ? {} : { STAND_IN = join(",", [for target, topic in var.stand_ins : "${target}=${topic}"]) },
    var.environment,
  )

  memory_mib = tonumber(trimsuffix(trimsuffix(var.memory, "Mi"), "Gi")) * (endswith(var.memory, "Gi") ? 1024 : 1)
}

resource "google_cloud_run_v2_service" "relay" {
  name        = var.name
  location    = var.region
  description = "outbox-relay: Firestore outboxes to Pub/Sub"
  ingress     = var.ingress
  iap_enabled = var.auth_mode == "iap"

  deletion_protection = var.deletion_protection

  custom_audiences = var.auth_mode == "oidc" ? sort(var.audiences) : null

  template {
    service_account                  = google_service_account.relay.email
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"
    timeout                          = "3600s" # the console's stream of changes stays open
    max_instance_request_concurrency = 80

    scaling {
      min_instance_count = var.min_instances # the relay works without requests
      max_instance_count = var.max_instances
    }

    containers {
      name  = "relay"
      image = local.image

      ports {
        container_port = 8080
      }

      resources {
        limits            = { cpu = var.cpu, memory = var.memory }
        cpu_idle          = false # listeners, leases and canaries need CPU between requests
        startup_cpu_boost = true
      }

      dynamic "env" {
        for_each = local.environment
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "volume_mounts" {
        for_each = local.relay_files
        content {
          name       = volume_mounts.value
          mount_path = local.mounts[volume_mounts.value]
        }
      }

      # It answers once it has looked at its topics: half a minute when Pub/Sub is
      # away. 48 times 5 s is the most that Cloud Run waits.
      startup_probe {
        initial_delay_seconds = 0
        period_seconds        = 5
        timeout_seconds       = 4
        failure_threshold     = 48
        http_get {
          path = "/alive"
          port = 8080
        }
      }

      # Failing it is SIGKILL: only a process that is stuck may. One that waits for
      # Firestore is alive.
      liveness_probe {
        initial_delay_seconds = 0
        period_seconds        = 15
        timeout_seconds       = 10
        failure_threshold     = 8
        http_get {
          path = "/alive"
          port = 8080
        }
      }
    }

    # Google's collector carries /metrics to Managed Service for Prometheus, where
    # the alert policies and the dashboard look.
    containers {
      name       = "collector"
      image      = var.collector_image
      depends_on = ["relay"]

      resources {
        limits   = { cpu = "1", memory = "512Mi" }
        cpu_idle = false
      }

      volume_mounts {
        name       = "monitoring"
        mount_path = "/etc/rungmp"
      }
    }

    dynamic "volumes" {
      for_each = local.files
      content {
        name = volumes.key
        secret {
          secret = google_secret_manager_secret.file[volumes.key].secret_id
          items {
            version = google_secret_manager_secret_version.file[volumes.key].version
            path    = local.file_names[volumes.key]
          }
        }
      }
    }
  }

  # The first revision works only when all of this is there.
  depends_on = [
    google_firestore_database.relay,
    google_firestore_field.relay,
    google_firestore_index.relay,
    google_project_iam_member.firestore,
    google_project_iam_member.metrics,
    google_project_iam_member.project,
    google_project_service_identity.iap,
    google_pubsub_topic_iam_member.publish,
    google_secret_manager_secret_iam_member.reads,
    terraform_data.push,
  ]
}
