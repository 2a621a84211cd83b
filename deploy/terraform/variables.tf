# What is to be given. Everything but the project, the image and the people has a
# default that works.

variable "project" {
  description = "Project ID. The project exists and has billing."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project is the project's ID: 6 to 30 lower-case letters, digits and hyphens, such as my-project. The number and the display name are something else."
  }
}

variable "region" {
  description = "Region of the service, the registry and the secrets."
  type        = string
  default     = "europe-west1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region is a region such as europe-west1, not a zone (europe-west1-b) and not a multi-region (eur3)."
  }
}

variable "name" {
  description = "Name of the service, its account, its repository and the beginning of its secrets' names."
  type        = string
  default     = "outbox-relay"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.name))
    error_message = "name is a service account's ID too: 6 to 30 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen."
  }
}

variable "labels" {
  description = "Labels of every resource that takes some."
  type        = map(string)
  default     = { app = "outbox-relay" }
  nullable    = false

  validation {
    condition     = alltrue([for k, v in var.labels : can(regex("^[a-z][a-z0-9_-]{0,62}$", k)) && can(regex("^[a-z0-9_-]{0,63}$", v))])
    error_message = "labels have keys and values of at most 63 lower-case letters, digits, hyphens and underscores; a key begins with a letter."
  }
}

variable "image" {
  description = "Image to run, in a registry that Cloud Run can pull from, with a tag or better a digest. Not with image_archive."
  type        = string
  default     = null

  validation {
    condition     = (var.image == null) != (var.image_archive == null)
    error_message = "Give either image, of an image that is in a registry, or image_archive, of one to push."
  }

  validation {
    condition     = var.image == null || can(regex("^[a-z0-9.-]+(/[a-z0-9._-]+)+(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$", var.image))
    error_message = "image is like europe-west1-docker.pkg.dev/my-project/outbox-relay/outbox-relay@sha256:..., without https://."
  }

  validation {
    condition     = var.image == null || can(regex("(:[A-Za-z0-9_][A-Za-z0-9._-]*|@sha256:[0-9a-f]{64})$", var.image)) && !endswith(coalesce(var.image, "-"), ":latest")
    error_message = "image names a tag other than latest, or a digest: what runs must not change without an apply."
  }
}

variable "image_archive" {
  description = "OCI archive of `make image`, to be pushed to the repository of create_registry; needs Go and gcloud's credentials where terraform runs."
  type        = string
  default     = null

  validation {
    condition     = var.image_archive == null || var.create_registry
    error_message = "image_archive is pushed to the repository that create_registry makes: set create_registry to true, or push it yourself and give image."
  }

  validation {
    condition     = var.image_archive == null || try(fileexists(var.image_archive), false)
    error_message = "There is no such file. `make image` writes it to dist/outbox-relay-image.tar; the path is relative to where terraform runs."
  }
}

variable "create_registry" {
  description = "Make an Artifact Registry repository for the image."
  type        = bool
  default     = true
  nullable    = false
}

variable "collector_image" {
  description = "Google's collector for Managed Service for Prometheus on Cloud Run."
  type        = string
  default     = "us-docker.pkg.dev/cloud-ops-agents-artifacts/cloud-run-gmp-sidecar/cloud-run-gmp-sidecar:1.2.0"
  nullable    = false

  validation {
    condition     = can(regex("(:[A-Za-z0-9_][A-Za-z0-9._-]*|@sha256:[0-9a-f]{64})$", var.collector_image)) && !endswith(var.collector_image, ":latest")
    error_message = "collector_image names a tag other than latest, or a digest."
  }
}

variable "cpu" {
  description = "CPUs of the relay's container: 1, 2, 4, 6 or 8."
  type        = string
  default     = "1"
  nullable    = false

  validation {
    condition     = contains(["1", "2", "4", "6", "8"], var.cpu)
    error_message = "cpu is \"1\", \"2\", \"4\", \"6\" or \"8\": with CPU always allocated, Cloud Run gives no part of one."
  }
}

variable "memory" {
  description = "Memory of the relay's container, in Mi or Gi. GOMEMLIMIT is nine tenths of it."
  type        = string
  default     = "512Mi"
  nullable    = false

  validation {
    condition     = can(regex("^([1-9][0-9]*Mi|[1-9][0-9]?Gi)$", var.memory)) && try(tonumber(trimsuffix(trimsuffix(var.memory, "Mi"), "Gi")) * (endswith(var.memory, "Gi") ? 1024 : 1) >= 512, false)
    error_message = "memory is like 512Mi or 2Gi, and at least 512Mi, the least of the second generation execution environment."
  }

  validation {
    condition     = try(tonumber(trimsuffix(trimsuffix(var.memory, "Mi"), "Gi")) * (endswith(var.memory, "Gi") ? 1024 : 1) >= lookup({ "4" = 2048, "6" = 4096, "8" = 4096 }, var.cpu, 512), false)
    error_message = "memory is too little for cpu: 4 CPUs need at least 2Gi, 6 and 8 at least 4Gi."
  }
}

variable "min_instances" {
  description = "Instances that always run. One relays; a second takes over at once when the first dies."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.min_instances >= 1 && floor(var.min_instances) == var.min_instances
    error_message = "min_instances is at least 1: the relay works without requests, so with 0 nothing is relayed."
  }
}

variable "max_instances" {
  description = "Most instances. Requests to the console alone start more."
  type        = number
  default     = 3
  nullable    = false

  validation {
    condition     = var.max_instances >= var.min_instances && var.max_instances <= 100 && floor(var.max_instances) == var.max_instances
    error_message = "max_instances is a whole number from min_instances to 100."
  }
}

variable "ingress" {
  description = "Where requests may come from."
  type        = string
  default     = "INGRESS_TRAFFIC_ALL"
  nullable    = false

  validation {
    condition     = contains(["INGRESS_TRAFFIC_ALL", "INGRESS_TRAFFIC_INTERNAL_ONLY", "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"], var.ingress)
    error_message = "ingress is INGRESS_TRAFFIC_ALL, INGRESS_TRAFFIC_INTERNAL_ONLY or INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER."
  }
}

variable "environment" {
  description = "More environment variables of the relay, such as LOG_LEVEL or SWEEP_INTERVAL; they win over those set here."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.environment) : can(regex("^[A-Z_][A-Z0-9_]*$", name))])
    error_message = "environment has names of capital letters, digits and underscores."
  }

  validation {
    condition     = length(setintersection(keys(var.environment), ["AUTH_AUDIENCE", "AUTH_MODE", "CATALOG", "ENSURE_TOPICS", "FIRESTORE_DATABASE", "GOOGLE_CLOUD_PROJECT", "HOST", "K_REVISION", "K_SERVICE", "PORT", "ROLES_FILE", "STAND_IN"])) == 0
    error_message = "environment cannot set what follows from other variables (AUTH_MODE, AUTH_AUDIENCE, ROLES_FILE, CATALOG, STAND_IN, FIRESTORE_DATABASE, GOOGLE_CLOUD_PROJECT), what terraform does itself (ENSURE_TOPICS), or what is Cloud Run's (HOST, PORT, K_SERVICE, K_REVISION)."
  }

  validation {
    condition     = length([for name in keys(var.environment) : name if endswith(name, "_EMULATOR_HOST")]) == 0
    error_message = "environment cannot lead a service in production to an emulator."
  }
}

variable "trace_ratio" {
  description = "Share of records whose way is traced, from 0 (traces are off, and cost nothing) to 1. A record whose producer traces it is traced anyway, and one whose producer does not is not."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.trace_ratio >= 0 && var.trace_ratio <= 1
    error_message = "trace_ratio is from 0 to 1, such as 0.01 for one record in a hundred."
  }
}

variable "catalog_file" {
  description = "Catalog of your own; without it the built-in one. Give requirements_file with it."
  type        = string
  default     = null

  validation {
    condition     = var.catalog_file == null || try(fileexists(var.catalog_file), false)
    error_message = "There is no such catalog file."
  }
}

variable "requirements_file" {
  description = "What that catalog needs: the output of `outbox-relay catalog requirements --catalog FILE`."
  type        = string
  default     = null

  validation {
    condition     = (var.catalog_file == null && length(var.stand_ins) == 0) || var.requirements_file != null
    error_message = "With catalog_file or stand_ins, topics and indexes are others than the built-in catalog's: give requirements_file, the output of `outbox-relay catalog requirements --catalog FILE --stand-in TARGET=TOPIC`."
  }

  validation {
    condition     = var.requirements_file == null || can(jsondecode(file(var.requirements_file)).permissions)
    error_message = "requirements_file is not the output of `outbox-relay catalog requirements`."
  }
}

variable "stand_ins" {
  description = "Topics in place of handler targets, by target, as with --stand-in. With one for CLAIMS_HANDLER the service needs no access to Firebase Auth."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for target, topic in var.stand_ins : can(regex("^[A-Za-z0-9_.-]+$", target)) && can(regex("^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$", topic)) && !startswith(topic, "goog")])
    error_message = "stand_ins maps names of targets to IDs of topics, such as { CLAIMS_HANDLER = \"claims\" }."
  }
}

variable "firestore_database" {
  description = "Firestore database that holds the outboxes."
  type        = string
  default     = "(default)"
  nullable    = false

  validation {
    condition     = var.firestore_database == "(default)" || can(regex("^[a-z][a-z0-9-]{2,61}[a-z0-9]$", var.firestore_database))
    error_message = "firestore_database is (default), or 4 to 63 lower-case letters, digits and hyphens that begin with a letter."
  }
}

variable "firestore_location" {
  description = "Location of the database, for good; without it the region. A multi-region such as eur3 costs more and survives a region."
  type        = string
  default     = null

  validation {
    condition     = var.firestore_location == null || can(regex("^([a-z]+-[a-z]+[0-9]+|eur3|nam5|nam7)$", var.firestore_location))
    error_message = "firestore_location is a region such as europe-west1, or a multi-region: eur3, nam5 or nam7."
  }
}

variable "create_database" {
  description = "Make the database. False where it is there already, as in most projects with producers."
  type        = bool
  default     = true
  nullable    = false
}

variable "release_rules" {
  description = "Release deploy/firestore/firestore.rules as the database's security rules. It REPLACES the rules that are there: true in a fresh project alone."
  type        = bool
  default     = false
  nullable    = false
}

variable "point_in_time_recovery" {
  description = "Keep every version of every document for seven days; billed as storage."
  type        = bool
  default     = true
  nullable    = false
}

variable "deletion_protection" {
  description = "Refuse to delete the service. To destroy, apply with false first."
  type        = bool
  default     = true
  nullable    = false
}

variable "delete_database" {
  description = "Let terraform destroy delete the database that it made, with ALL documents in it. Otherwise the database stays."
  type        = bool
  default     = false
  nullable    = false
}

variable "pubsub_regions" {
  description = "Regions that messages may be stored in; empty for any."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for r in var.pubsub_regions : can(regex("^[a-z]+-[a-z]+[0-9]+$", r))])
    error_message = "pubsub_regions are regions such as europe-west1."
  }
}

variable "subscriptions" {
  description = "Subscriptions of consumers, by name. Ordering, deadlines, retention and dead letters follow from the topic."
  type = map(object({
    topic                 = string
    consumers             = optional(set(string), []) # who may read it: serviceAccount:..., user:..., group:...
    filter                = optional(string)          # by attribute, for good: attributes.eventType = "RoleChanged"
    exactly_once          = optional(bool, false)
    max_delivery_attempts = optional(number) # before the dead-letter topic
    push = optional(object({
      endpoint        = string
      service_account = string # whose identity the push carries
      audience        = optional(string)
    }))
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.subscriptions) : can(regex("^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$", name)) && !startswith(name, "goog")])
    error_message = "subscriptions have names of 3 to 255 letters, digits and -._~+%, that begin with a letter and not with goog."
  }

  validation {
    condition     = alltrue(flatten([for s in values(var.subscriptions) : [for m in s.consumers : can(regex("^(user|group|serviceAccount):[^@ ]+@[^@ ]+$", m))]]))
    error_message = "A subscription's consumers are like serviceAccount:tags@my-project.iam.gserviceaccount.com, user:... or group:..."
  }

  validation {
    condition     = alltrue([for s in values(var.subscriptions) : try(s.max_delivery_attempts >= 5 && s.max_delivery_attempts <= 100 && floor(s.max_delivery_attempts) == s.max_delivery_attempts, s.max_delivery_attempts == null)])
    error_message = "A subscription's max_delivery_attempts is a whole number from 5 to 100."
  }

  validation {
    condition     = alltrue([for s in values(var.subscriptions) : s.push == null || can(regex("^https://[^ ]+$", s.push.endpoint))])
    error_message = "A subscription's push.endpoint begins with https://."
  }

  validation {
    condition     = alltrue([for s in values(var.subscriptions) : s.push == null || can(regex("^[^@: ]+@[^@ ]+[.]gserviceaccount[.]com$", s.push.service_account))])
    error_message = "A subscription's push.service_account is the address of a service account, without serviceAccount: before it."
  }

  validation {
    condition     = alltrue([for s in values(var.subscriptions) : s.push == null || !s.exactly_once])
    error_message = "A subscription cannot both push and deliver exactly once: Pub/Sub refuses it."
  }
}

variable "auth_mode" {
  description = "How the service finds out who asks: iap (people, in their browser), oidc (identity tokens), off (nobody may use /admin/v1)."
  type        = string
  default     = "iap"
  nullable    = false

  validation {
    condition     = contains(["iap", "oidc", "off"], var.auth_mode)
    error_message = "auth_mode is iap, oidc or off; dev is for loopback alone."
  }
}

variable "roles" {
  description = "Addresses by role. A higher role includes those below it. Whoever has a role is let in."
  type = object({
    viewer   = optional(set(string), [])
    operator = optional(set(string), [])
    security = optional(set(string), [])
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue(flatten([for addresses in values(var.roles) : [for a in addresses : can(regex("^[^@: ]+@[^@ ]+[.][^@ ]+$", a))]]))
    error_message = "roles hold plain addresses such as alice@example.com: no user: before them, and no groups, as a token names the person."
  }

  validation {
    condition     = alltrue(flatten([for addresses in values(var.roles) : [for a in addresses : a == lower(a)]]))
    error_message = "roles hold addresses in lower case, so that nobody stands there twice."
  }

  validation {
    condition     = var.auth_mode == "off" || length(var.roles.security) > 0
    error_message = "roles.security is empty: nobody could release a frozen aggregate or decide about a SECURITY_BLOCK dead letter."
  }
}

variable "members" {
  description = "Who else is let through to the service, besides those with a role: group:..., domain:..., serviceAccount:..., user:... There they see what is open to everybody, such as /metrics."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for m in var.members : can(regex("^((user|group|serviceAccount):[^@ ]+@[^@ ]+|domain:[^@ ]+[.][^@ ]+)$", m))])
    error_message = "members are like group:oncall@example.com, domain:example.com or serviceAccount:...; never allUsers or allAuthenticatedUsers."
  }
}

variable "audiences" {
  description = "With auth_mode oidc: more audiences besides the service's own address, such as that of a domain of yours."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for a in var.audiences : can(regex("^https://[^ ,]+$", a))])
    error_message = "audiences begin with https:// and hold neither spaces nor commas."
  }

  validation {
    condition     = var.auth_mode == "oidc" || length(var.audiences) == 0
    error_message = "audiences are for auth_mode oidc; that of IAP is fixed."
  }
}

variable "alerts" {
  description = "Make the alert policies of deploy/monitoring."
  type        = bool
  default     = true
  nullable    = false

  validation {
    condition     = !var.alerts || length(var.notification_emails) + length(var.notification_channels) > 0
    error_message = "alerts reach nobody: give notification_emails or notification_channels, or set alerts to false."
  }
}

variable "notification_emails" {
  description = "Addresses that alerts are sent to."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for a in var.notification_emails : can(regex("^[^@ ]+@[^@ ]+[.][^@ ]+$", a))])
    error_message = "notification_emails are addresses such as oncall@example.com."
  }
}

variable "notification_channels" {
  description = "Channels that are there already (PagerDuty, Slack), by full name."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for c in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[^/]+$", c))])
    error_message = "notification_channels are like projects/my-project/notificationChannels/1234567890."
  }
}

variable "dashboard" {
  description = "Make the dashboard of deploy/monitoring."
  type        = bool
  default     = true
  nullable    = false
}
