terraform {
  # 1.9 lets the validation of one variable look at another.
  required_version = ">= 1.9.0"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 7.45" # whose documentation schema/ was read from
    }

    # For google_project_service_identity alone.
    google-beta = {
      source  = "hashicorp/google-beta"
      version = "~> 7.45"
    }
  }
}

# Some APIs (security rules, Firebase Auth) answer a person's credentials only when
# told whose quota to use: the project's own.
provider "google" {
  project               = var.project
  region                = var.region
  default_labels        = var.labels
  billing_project       = var.project
  user_project_override = true
}

provider "google-beta" {
  project               = var.project
  region                = var.region
  billing_project       = var.project
  user_project_override = true
}
