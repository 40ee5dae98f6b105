-- Which owner a Hub was offered to is read by every look at its status. Without an index of its own that read went through
-- all logs, since nobody is offered a Hub for years.

CREATE INDEX logs_of_no_bounty ON hub_index.logs ((topics[1]), block_number, log_index) WHERE bounty_id IS NULL;
