# Alert policies and the dashboard: deploy/monitoring writes the files.
locals {
  monitoring = "${path.module}/../monitoring/cloudmonitoring"
  alerts     = var.alerts ? { for f in fileset("${local.monitoring}/alerts", "*.json") : trimsuffix(f, ".json") => jsondecode(file("${local.monitoring}/alerts/${f}")) } : {}
}

resource "google_monitoring_notification_channel" "email" {
  for_each = var.notification_emails

  display_name = "${var.name}: ${each.value}"
  type         = "email"
  labels       = { email_address = each.value }

  depends_on = [google_project_service.api]
}

resource "google_monitoring_alert_policy" "relay" {
  for_each = local.alerts

  display_name = each.value.displayName
  combiner     = each.value.combiner
  severity     = try(each.value.severity, null)
  enabled      = try(each.value.enabled, true)
  user_labels  = try(each.value.userLabels, null)

  notification_channels = concat([for c in google_monitoring_notification_channel.email : c.id], sort(var.notification_channels))

  dynamic "conditions" {
    for_each = each.value.conditions
    content {
      display_name = conditions.value.displayName

      condition_prometheus_query_language {
        query               = conditions.value.conditionPrometheusQueryLanguage.query
        duration            = try(conditions.value.conditionPrometheusQueryLanguage.duration, null)
        evaluation_interval = try(conditions.value.conditionPrometheusQueryLanguage.evaluationInterval, null)
        labels              = try(conditions.value.conditionPrometheusQueryLanguage.labels, null)
        rule_group          = try(conditions.value.conditionPrometheusQueryLanguage.ruleGroup, null)
        alert_rule          = try(conditions.value.conditionPrometheusQueryLanguage.alertRule, null)

        # In a fresh project no metric is there yet.
        disable_metric_validation = true
      }
    }
  }

  dynamic "documentation" {
    for_each = try([each.value.documentation], [])
    content {
      content   = try(documentation.value.content, null)
      mime_type = try(documentation.value.mimeType, null)
      subject   = try(documentation.value.subject, null)

      dynamic "links" {
        for_each = try(documentation.value.links, [])
        content {
          display_name = links.value.displayName
          url          = links.value.url
        }
      }
    }
  }

  dynamic "alert_strategy" {
    for_each = try([each.value.alertStrategy], [])
    content {
      auto_close           = try(alert_strategy.value.autoClose, null)
      notification_prompts = try(alert_strategy.value.notificationPrompts, null)
    }
  }

  depends_on = [google_project_service.api]
}

resource "google_monitoring_dashboard" "relay" {
  count = var.dashboard ? 1 : 0

  dashboard_json = file("${local.monitoring}/dashboard.json")

  depends_on = [google_project_service.api]
}
