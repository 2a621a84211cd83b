# What the relay needs of a project, derived from the catalog and from the
# code's own queries: deploy/requirements writes the file.
locals {
  requirements = jsondecode(file(coalesce(var.requirements_file, "${path.module}/requirements.json")))

  topics = { for t in local.requirements.topics : t.name => t }

  # Which permissions apply. A handler for claims that has a stand-in is not run,
  # and topics are made here, never by the service.
  permission_cases = concat([""], local.claims_handled ? ["targets of kind handler"] : [])
  permissions      = [for p in local.requirements.permissions : p if contains(local.permission_cases, p.when)]

  claims_handled = !contains(keys(var.stand_ins), "CLAIMS_HANDLER")
}
