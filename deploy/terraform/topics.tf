# Topics: those of the catalog's targets and the service's own, and the dead-letter
# topics of their consumers.
locals {
  # Each dead-letter topic with the subscription that keeps what it gets.
  dead_letters = { for t in values(local.topics) : t.subscription.deadLetterTopic => t.subscription.deadLetterReader if t.subscription.deadLetterTopic != "" }
}

resource "google_pubsub_topic" "relay" {
  for_each = local.topics

  name = each.key

  dynamic "message_storage_policy" {
    for_each = length(var.pubsub_regions) == 0 ? [] : [var.pubsub_regions]
    content {
      allowed_persistence_regions = message_storage_policy.value
    }
  }

  depends_on = [google_project_service.api]
}

resource "google_pubsub_topic" "dead_letters" {
  for_each = local.dead_letters

  name = each.key

  dynamic "message_storage_policy" {
    for_each = length(var.pubsub_regions) == 0 ? [] : [var.pubsub_regions]
    content {
      allowed_persistence_regions = message_storage_policy.value
    }
  }

  depends_on = [google_project_service.api]
}

# A topic that nobody subscribes to loses what is published. These keep what
# consumers could not handle until somebody has looked at it.
resource "google_pubsub_subscription" "dead_letters" {
  for_each = local.dead_letters

  name  = each.value.name
  topic = google_pubsub_topic.dead_letters[each.key].id

  enable_message_ordering    = each.value.ordered
  ack_deadline_seconds       = tonumber(trimsuffix(each.value.ackDeadline, "s"))
  message_retention_duration = each.value.retainFor

  # An idle subscription is never deleted.
  expiration_policy {
    ttl = ""
  }
}
