# What the variables refuse, and what they take: each run changes something of a
# configuration that is well. Nothing here needs the provider; see inputs_test.go.
variables {
  project             = "my-project"
  image               = "europe-west1-docker.pkg.dev/my-project/outbox-relay/outbox-relay:1.2.3"
  roles               = { security = ["bob@example.com"] }
  notification_emails = ["oncall@example.com"]
}

run "takes_base" {
  command = plan
}

run "takes_archive_in_place_of_an_image" {
  command = plan

  variables {
    image         = null
    image_archive = "variables.tf"
  }
}

run "takes_image_by_digest" {
  command = plan

  variables {
    image = "europe-west1-docker.pkg.dev/my-project/r/outbox-relay@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  }
}

run "takes_most_resources" {
  command = plan

  variables {
    cpu           = "8"
    memory        = "4Gi"
    min_instances = 2
    max_instances = 10
  }
}

run "takes_oidc_with_a_domain" {
  command = plan

  variables {
    auth_mode = "oidc"
    audiences = ["https://relay.example.com"]
    members   = ["group:oncall@example.com", "domain:example.com"]
  }
}

run "takes_no_admin" {
  command = plan

  variables {
    auth_mode = "off"
    roles     = {}
  }
}

run "takes_no_alerts" {
  command = plan

  variables {
    alerts              = false
    notification_emails = []
  }
}

run "takes_channels_alone" {
  command = plan

  variables {
    notification_emails   = []
    notification_channels = ["projects/my-project/notificationChannels/1234567890"]
  }
}

run "takes_own_catalog" {
  command = plan

  variables {
    catalog_file      = "variables.tf"
    requirements_file = "requirements.json"
  }
}

run "takes_a_stand_in" {
  command = plan

  variables {
    requirements_file = "requirements.json"
    stand_ins         = { CLAIMS_HANDLER = "claims" }
  }
}

run "takes_subscriptions" {
  command = plan

  variables {
    subscriptions = {
      tags   = { topic = "ier-tag-subscriber", consumers = ["serviceAccount:tags@my-project.iam.gserviceaccount.com"], max_delivery_attempts = 5, exactly_once = true }
      pushed = { topic = "ier-tag-subscriber", push = { endpoint = "https://tags.example.com/push", service_account = "push@my-project.iam.gserviceaccount.com" } }
    }
  }
}

run "takes_environment" {
  command = plan

  variables {
    environment = { LOG_LEVEL = "debug", SWEEP_INTERVAL = "1m" }
  }
}

run "takes_traces" {
  command = plan

  variables {
    trace_ratio = 0.01
  }
}

run "refuses_project_is_a_number" {
  command = plan

  variables {
    project = "123456789012"
  }

  expect_failures = [var.project]
}

run "refuses_project_in_capitals" {
  command = plan

  variables {
    project = "My-Project"
  }

  expect_failures = [var.project]
}

run "refuses_project_too_short" {
  command = plan

  variables {
    project = "p1"
  }

  expect_failures = [var.project]
}

run "refuses_region_is_a_zone" {
  command = plan

  variables {
    region = "europe-west1-b"
  }

  expect_failures = [var.region]
}

run "refuses_region_is_a_multi_region" {
  command = plan

  variables {
    region = "eur3"
  }

  expect_failures = [var.region]
}

run "refuses_name_with_an_underscore" {
  command = plan

  variables {
    name = "outbox_relay"
  }

  expect_failures = [var.name]
}

run "refuses_name_too_long_for_an_account" {
  command = plan

  variables {
    name = "outbox-relay-of-the-whole-company"
  }

  expect_failures = [var.name]
}

run "refuses_name_ends_with_a_hyphen" {
  command = plan

  variables {
    name = "outbox-relay-"
  }

  expect_failures = [var.name]
}

run "refuses_label_in_capitals" {
  command = plan

  variables {
    labels = { Team = "x" }
  }

  expect_failures = [var.labels]
}

run "refuses_image_missing" {
  command = plan

  variables {
    image = null
  }

  expect_failures = [var.image]
}

run "refuses_image_with_a_scheme" {
  command = plan

  variables {
    image = "https://europe-west1-docker.pkg.dev/my-project/r/outbox-relay:1"
  }

  expect_failures = [var.image]
}

run "refuses_image_latest" {
  command = plan

  variables {
    image = "europe-west1-docker.pkg.dev/my-project/r/outbox-relay:latest"
  }

  expect_failures = [var.image]
}

run "refuses_image_without_a_tag" {
  command = plan

  variables {
    image = "europe-west1-docker.pkg.dev/my-project/r/outbox-relay"
  }

  expect_failures = [var.image]
}

run "refuses_image_and_archive" {
  command = plan

  variables {
    image_archive = "variables.tf"
  }

  expect_failures = [var.image]
}

run "refuses_archive_that_is_not_there" {
  command = plan

  variables {
    image         = null
    image_archive = "no-such-file.tar"
  }

  expect_failures = [var.image_archive]
}

run "refuses_archive_without_a_registry" {
  command = plan

  variables {
    image           = null
    image_archive   = "variables.tf"
    create_registry = false
  }

  expect_failures = [var.image_archive]
}

run "refuses_collector_latest" {
  command = plan

  variables {
    collector_image = "us-docker.pkg.dev/p/r/collector:latest"
  }

  expect_failures = [var.collector_image]
}

run "refuses_part_of_a_cpu" {
  command = plan

  variables {
    cpu = "0.5"
  }

  expect_failures = [var.cpu]
}

run "refuses_cpu_in_millis" {
  command = plan

  variables {
    cpu = "1000m"
  }

  expect_failures = [var.cpu]
}

run "refuses_memory_too_little" {
  command = plan

  variables {
    memory = "256Mi"
  }

  expect_failures = [var.memory]
}

run "refuses_memory_in_megabytes" {
  command = plan

  variables {
    memory = "512MB"
  }

  expect_failures = [var.memory]
}

run "refuses_memory_too_little_for_its_cpus" {
  command = plan

  variables {
    cpu    = "4"
    memory = "1Gi"
  }

  expect_failures = [var.memory]
}

run "refuses_no_instance" {
  command = plan

  variables {
    min_instances = 0
  }

  expect_failures = [var.min_instances]
}

run "refuses_half_an_instance" {
  command = plan

  variables {
    min_instances = 1.5
  }

  expect_failures = [var.min_instances]
}

run "refuses_most_below_least" {
  command = plan

  variables {
    min_instances = 3
    max_instances = 2
  }

  expect_failures = [var.max_instances]
}

run "refuses_ingress_unknown" {
  command = plan

  variables {
    ingress = "all"
  }

  expect_failures = [var.ingress]
}

run "refuses_environment_in_small_letters" {
  command = plan

  variables {
    environment = { log-level = "debug" }
  }

  expect_failures = [var.environment]
}

run "refuses_environment_of_another_variable" {
  command = plan

  variables {
    environment = { AUTH_MODE = "dev" }
  }

  expect_failures = [var.environment]
}

run "refuses_environment_of_cloud_run" {
  command = plan

  variables {
    environment = { PORT = "9090" }
  }

  expect_failures = [var.environment]
}

run "refuses_environment_to_an_emulator" {
  command = plan

  variables {
    environment = { FIRESTORE_EMULATOR_HOST = "localhost:8080" }
  }

  expect_failures = [var.environment]
}

run "refuses_trace_ratio_in_percent" {
  command = plan

  variables {
    trace_ratio = 5
  }

  expect_failures = [var.trace_ratio]
}

run "refuses_trace_ratio_negative" {
  command = plan

  variables {
    trace_ratio = -0.1
  }

  expect_failures = [var.trace_ratio]
}

run "refuses_catalog_that_is_not_there" {
  command = plan

  variables {
    catalog_file      = "no-such-file.yaml"
    requirements_file = "requirements.json"
  }

  expect_failures = [var.catalog_file]
}

run "refuses_catalog_without_requirements" {
  command = plan

  variables {
    catalog_file = "variables.tf"
  }

  expect_failures = [var.requirements_file]
}

run "refuses_stand_in_without_requirements" {
  command = plan

  variables {
    stand_ins = { CLAIMS_HANDLER = "claims" }
  }

  expect_failures = [var.requirements_file]
}

run "refuses_requirements_of_another_kind" {
  command = plan

  variables {
    requirements_file = "variables.tf"
  }

  expect_failures = [var.requirements_file]
}

run "refuses_stand_in_with_a_bad_topic" {
  command = plan

  variables {
    requirements_file = "requirements.json"
    stand_ins         = { CLAIMS_HANDLER = "goog-claims" }
  }

  expect_failures = [var.stand_ins]
}

run "refuses_database_with_an_underscore" {
  command = plan

  variables {
    firestore_database = "my_database"
  }

  expect_failures = [var.firestore_database]
}

run "refuses_database_called_default" {
  command = plan

  variables {
    firestore_database = "(defaults)"
  }

  expect_failures = [var.firestore_database]
}

run "refuses_location_is_a_zone" {
  command = plan

  variables {
    firestore_location = "europe-west1-b"
  }

  expect_failures = [var.firestore_location]
}

run "refuses_pubsub_region_is_a_multi_region" {
  command = plan

  variables {
    pubsub_regions = ["eu"]
  }

  expect_failures = [var.pubsub_regions]
}

run "refuses_subscription_named_goog" {
  command = plan

  variables {
    subscriptions = { goog-tags = { topic = "ier-tag-subscriber" } }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_subscription_for_everybody" {
  command = plan

  variables {
    subscriptions = { tags = { topic = "ier-tag-subscriber", consumers = ["allUsers"] } }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_subscription_consumer_without_a_kind" {
  command = plan

  variables {
    subscriptions = { tags = { topic = "ier-tag-subscriber", consumers = ["tags@example.com"] } }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_subscription_gives_up_too_soon" {
  command = plan

  variables {
    subscriptions = { tags = { topic = "ier-tag-subscriber", max_delivery_attempts = 4 } }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_subscription_gives_up_too_late" {
  command = plan

  variables {
    subscriptions = { tags = { topic = "ier-tag-subscriber", max_delivery_attempts = 101 } }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_subscription_pushes_in_the_clear" {
  command = plan

  variables {
    subscriptions = { tags = { topic = "ier-tag-subscriber", push = { endpoint = "http://tags.example.com", service_account = "p@my-project.iam.gserviceaccount.com" } } }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_subscription_pushes_as_a_person" {
  command = plan

  variables {
    subscriptions = { tags = { topic = "ier-tag-subscriber", push = { endpoint = "https://tags.example.com", service_account = "alice@example.com" } } }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_subscription_pushes_exactly_once" {
  command = plan

  variables {
    subscriptions = { tags = { topic = "ier-tag-subscriber", exactly_once = true, push = { endpoint = "https://tags.example.com", service_account = "p@my-project.iam.gserviceaccount.com" } } }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_auth_mode_dev" {
  command = plan

  variables {
    auth_mode = "dev"
  }

  expect_failures = [var.auth_mode]
}

run "refuses_role_for_a_group" {
  command = plan

  variables {
    roles = { security = ["group:oncall@example.com"] }
  }

  expect_failures = [var.roles]
}

run "refuses_role_in_capitals" {
  command = plan

  variables {
    roles = { security = ["Bob@example.com"] }
  }

  expect_failures = [var.roles]
}

run "refuses_nobody_has_security" {
  command = plan

  variables {
    roles = { operator = ["alice@example.com"] }
  }

  expect_failures = [var.roles]
}

run "refuses_everybody_is_a_member" {
  command = plan

  variables {
    members = ["allUsers"]
  }

  expect_failures = [var.members]
}

run "refuses_member_without_a_kind" {
  command = plan

  variables {
    members = ["alice@example.com"]
  }

  expect_failures = [var.members]
}

run "refuses_audience_without_a_scheme" {
  command = plan

  variables {
    auth_mode = "oidc"
    audiences = ["relay.example.com"]
  }

  expect_failures = [var.audiences]
}

run "refuses_audience_beside_iap" {
  command = plan

  variables {
    audiences = ["https://relay.example.com"]
  }

  expect_failures = [var.audiences]
}

run "refuses_alerts_that_reach_nobody" {
  command = plan

  variables {
    notification_emails = []
  }

  expect_failures = [var.alerts]
}

run "refuses_notification_to_no_address" {
  command = plan

  variables {
    notification_emails = ["oncall"]
  }

  expect_failures = [var.notification_emails]
}

run "refuses_channel_by_number" {
  command = plan

  variables {
    notification_channels = ["1234567890"]
  }

  expect_failures = [var.notification_channels]
}
