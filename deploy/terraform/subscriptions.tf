# Subscriptions of consumers. How they have to be follows from their topic in
# requirements.json: ordered, with a dead-letter topic that somebody keeps.
locals {
  subscriptions = {
    for name, s in var.subscriptions : name => merge(s, {
      needs        = try(local.topics[s.topic].subscription, null)
      attempts     = coalesce(s.max_delivery_attempts, try(local.topics[s.topic].subscription.maxDeliveryAttempts, 0), 5)
      dead_letters = try(local.topics[s.topic].subscription.deadLetterTopic, "")
    })
  }

  pubsub_agent = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}

resource "google_pubsub_subscription" "consumer" {
  for_each = local.subscriptions

  name  = each.key
  topic = google_pubsub_topic.relay[each.value.topic].id

  # The relay publishes with the aggregate as ordering key. Ordering is fixed when
  # a subscription is made.
  enable_message_ordering      = each.value.needs.ordered
  enable_exactly_once_delivery = each.value.exactly_once
  filter                       = each.value.filter

  ack_deadline_seconds       = tonumber(trimsuffix(each.value.needs.ackDeadline, "s"))
  message_retention_duration = each.value.needs.retainFor

  # An idle subscription is never deleted.
  expiration_policy {
    ttl = ""
  }

  retry_policy {
    minimum_backoff = each.value.needs.minBackoff
    maximum_backoff = each.value.needs.maxBackoff
  }

  dynamic "dead_letter_policy" {
    for_each = each.value.dead_letters == "" ? [] : [each.value.dead_letters]
    content {
      dead_letter_topic     = google_pubsub_topic.dead_letters[dead_letter_policy.value].id
      max_delivery_attempts = each.value.attempts
    }
  }

  dynamic "push_config" {
    for_each = each.value.push == null ? [] : [each.value.push]
    content {
      push_endpoint = push_config.value.endpoint

      oidc_token {
        service_account_email = push_config.value.service_account
        audience              = coalesce(push_config.value.audience, push_config.value.endpoint)
      }
    }
  }

  lifecycle {
    precondition {
      condition     = contains(keys(local.topics), each.value.topic)
      error_message = "Subscription ${each.key} is to topic ${each.value.topic}, which the catalog does not name. There are: ${join(", ", keys(local.topics))}."
    }
  }
}

# Who reads a subscription.
resource "google_pubsub_subscription_iam_member" "consumer" {
  for_each = merge([
    for name, s in var.subscriptions : { for member in s.consumers : "${name} ${member}" => { subscription = name, member = member } }
  ]...)

  subscription = google_pubsub_subscription.consumer[each.value.subscription].name
  role         = "roles/pubsub.subscriber"
  member       = each.value.member
}

# Pub/Sub itself moves what a consumer cannot handle: it needs to take it from the
# subscription and to publish it. Without these it delivers for ever, and says
# nothing.
resource "google_pubsub_subscription_iam_member" "dead_letters" {
  for_each = { for name, s in local.subscriptions : name => s if s.dead_letters != "" }

  subscription = google_pubsub_subscription.consumer[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent

  depends_on = [google_project_service_identity.pubsub]
}

resource "google_pubsub_topic_iam_member" "dead_letters" {
  for_each = local.dead_letters

  topic  = google_pubsub_topic.dead_letters[each.key].id
  role   = "roles/pubsub.publisher"
  member = local.pubsub_agent

  depends_on = [google_project_service_identity.pubsub]
}

# Pub/Sub's own account in this project, which is made when it is first needed.
resource "google_project_service_identity" "pubsub" {
  provider = google-beta

  service = "pubsub.googleapis.com"

  depends_on = [google_project_service.api]
}

check "every_topic_is_read" {
  assert {
    condition     = length(setsubtract(keys(local.topics), [for s in var.subscriptions : s.topic])) == 0
    error_message = "No subscription here reads ${join(", ", setsubtract(keys(local.topics), [for s in var.subscriptions : s.topic]))}. Unless one is made elsewhere, what the relay publishes there is lost."
  }
}
