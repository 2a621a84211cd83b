# The database, the indexes and TTL policies of the service's queries, and the
# security rules.
locals {
  indexes = { for i in local.requirements.indexes : join(" ", concat([i.collectionGroup, i.queryScope], [for f in i.fields : "${f.fieldPath}:${f.order}"])) => i }
  fields  = { for f in local.requirements.fieldOverrides : "${f.collectionGroup} ${f.fieldPath}" => f }
}

resource "google_firestore_database" "relay" {
  count = var.create_database ? 1 : 0

  name        = var.firestore_database
  location_id = coalesce(var.firestore_location, var.region)
  type        = "FIRESTORE_NATIVE"

  point_in_time_recovery_enablement = var.point_in_time_recovery ? "POINT_IN_TIME_RECOVERY_ENABLED" : "POINT_IN_TIME_RECOVERY_DISABLED"

  # terraform destroy forgets the database rather than deleting the records of
  # every slice that appends to it, unless that is asked for.
  delete_protection_state = var.delete_database ? "DELETE_PROTECTION_DISABLED" : "DELETE_PROTECTION_ENABLED"
  deletion_policy         = var.delete_database ? "DELETE" : "ABANDON"

  depends_on = [google_project_service.api]
}

resource "google_firestore_index" "relay" {
  for_each = local.indexes

  database    = var.firestore_database
  collection  = each.value.collectionGroup
  query_scope = each.value.queryScope

  dynamic "fields" {
    for_each = each.value.fields
    content {
      field_path = fields.value.fieldPath
      order      = fields.value.order
    }
  }

  depends_on = [google_firestore_database.relay, google_project_service.api]
}

resource "google_firestore_field" "relay" {
  for_each = local.fields

  database   = var.firestore_database
  collection = each.value.collectionGroup
  field      = each.value.fieldPath

  # Empty: the field is in no single-field index.
  index_config {
    dynamic "indexes" {
      for_each = each.value.indexes
      content {
        order        = try(indexes.value.order, null)
        array_config = try(indexes.value.arrayConfig, null)
        query_scope  = try(indexes.value.queryScope, null)
      }
    }
  }

  dynamic "ttl_config" {
    for_each = try(each.value.ttl, false) ? [true] : []
    content {}
  }

  depends_on = [google_firestore_database.relay, google_project_service.api]
}

# A project has one set of rules for a database. This one replaces what is there.
resource "google_firebaserules_ruleset" "firestore" {
  count = var.release_rules ? 1 : 0

  source {
    files {
      name    = "firestore.rules"
      content = file("${path.module}/../firestore/firestore.rules")
    }
  }

  depends_on = [google_firestore_database.relay, google_project_service.api]

  lifecycle {
    create_before_destroy = true # the release names it until it has another
  }
}

resource "google_firebaserules_release" "firestore" {
  count = var.release_rules ? 1 : 0

  name         = var.firestore_database == "(default)" ? "cloud.firestore" : "cloud.firestore/${var.firestore_database}"
  ruleset_name = "projects/${var.project}/rulesets/${google_firebaserules_ruleset.firestore[0].name}"
}
